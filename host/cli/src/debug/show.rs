//! What commands show.

use super::command::{Command, Format, Info, Location, Printed};
use super::debugger::{Debugger, State};
use super::value::{self, lanes, triple};
use ptx_emulator::InstructionId;
use ptx_emulator::counters::PTX_FILE;
use ptx_emulator::stepping::{LaneGroup, LaneState, Paused};
use warpladder_lab::emulate::Scalar;

/// Lines of `list`.
const LISTED: u32 = 10;

/// Instructions of `disassemble`.
const DISASSEMBLED: usize = 11;

impl Debugger {
    /// Executes a command that only shows something.
    pub(super) fn show(&mut self, command: Command, state: State<'_>) -> Result<(), String> {
        match command {
            Command::Print(format, Printed::Register(name)) => {
                let (rank, group) = self.group(state.paused()?)?;
                let warp = self.focus.warp;
                let found = state.paused()?.register(rank, warp, &group, &name);
                let found = found.ok_or_else(|| {
                    format!("there is no register {name} here: see info registers")
                })?;
                self.say(&value::register(&found, format)?);
            }
            Command::Print(format, Printed::Elements(elements)) => {
                self.print(&elements, format, state)?;
            }
            Command::Info(info) => self.info(&info, state)?,
            Command::List(line) => self.list(line, state)?,
            Command::Disassemble(number) => self.disassemble(number, state)?,
            Command::Backtrace => self.backtrace(state.paused()?)?,
            _ => return Err("this command shows nothing".to_owned()),
        }
        Ok(())
    }

    /// Shows where the focused lane is.
    pub(super) fn show_focus(&mut self, paused: &dyn Paused) {
        let focus = self.focus;
        let block = triple(focus.block);
        let at = format!("block {block}, warp {}, lane {}", focus.warp, focus.lane);
        let group = match self.group(paused) {
            Ok((_, group)) => group,
            Err(message) => return self.say(&message),
        };
        let Some((id, code)) = group.instruction.zip(self.code.as_ref()) else {
            return self.say(&at);
        };
        let place = code.place(id);
        let others = match group.lanes.count_ones() {
            1 => "alone".to_owned(),
            _ => format!("with {}", lanes(group.lanes)),
        };
        self.say(&format!("{at} at {place}, {others}"));
        self.show_instruction(id);
        if group.state != LaneState::Ready {
            let text = self.state(paused, &group);
            self.say(&format!("  it {text}"));
        }
    }

    /// Shows an instruction, and its source line.
    fn show_instruction(&mut self, id: InstructionId) {
        let Some(code) = &mut self.code else { return };
        let mut shown = String::new();
        if let Some(line) = code.line(id).cloned().filter(|line| line.file != PTX_FILE) {
            let text = code.text(&line);
            if !text.is_empty() {
                shown = format!("{}\t{text}\n", line.line);
            }
        }
        shown += &format!("=> {}", code.instruction(id));
        self.say(&shown);
    }

    /// What lanes do, in words that follow the name of their warp.
    fn state(&self, paused: &dyn Paused, group: &LaneGroup) -> String {
        let rank = self.rank(paused).unwrap_or(0);
        match group.state {
            LaneState::Ready => "can run".to_owned(),
            LaneState::Members => "waits for the other lanes of its mask".to_owned(),
            LaneState::Barrier(number) => {
                let barriers = paused.barriers(rank);
                let found = barriers.iter().find(|barrier| barrier.barrier == number);
                found.map_or(format!("waits at barrier {number}"), |barrier| {
                    let (arrived, expected) = (barrier.arrived_threads(), barrier.expected);
                    format!("waits at barrier {number}: {arrived} of {expected} threads are there")
                })
            }
            LaneState::Mbarrier { rank: of, address } => {
                let place = match of == rank {
                    true => format!("{address:#x}"),
                    false => format!("{address:#x} of the block of rank {of}"),
                };
                format!(
                    "waits for the mbarrier at {place}{}",
                    mbarrier(paused, of, address)
                )
            }
            LaneState::Cluster => "waits at the barrier of the cluster".to_owned(),
            LaneState::Warpgroup => "waits for MMAs of its warpgroup".to_owned(),
            _ => "waits".to_owned(),
        }
    }

    fn info(&mut self, info: &Info, state: State<'_>) -> Result<(), String> {
        match info {
            Info::Registers(names) => self.info_registers(names, state.paused()?),
            Info::Warps => self.info_warps(state.paused()?),
            Info::Barriers => self.info_barriers(state.paused()?),
            Info::Launch => {
                self.info_launch(state);
                Ok(())
            }
            Info::Shared => {
                let variables: Vec<String> = state
                    .kernel
                    .shared_variables()
                    .map(|(name, at, bytes)| format!("{at:#06x}  {bytes:>6} bytes  {name}"))
                    .collect();
                match variables.is_empty() {
                    true => self.say("the kernel declares no shared variables"),
                    false => self.say(&variables.join("\n")),
                }
                if let Some(paused) = state.paused {
                    let bytes = paused.shared_bytes();
                    self.say(&format!("{bytes} bytes of a block in all"));
                }
                Ok(())
            }
            Info::Breakpoints => {
                self.info_breakpoints();
                Ok(())
            }
        }
    }

    fn info_registers(&mut self, names: &[String], paused: &dyn Paused) -> Result<(), String> {
        let (rank, group) = self.group(paused)?;
        let warp = self.focus.warp;
        let mut values = paused.registers(rank, warp, &group);
        if !names.is_empty() {
            let find = |name: &String| {
                let found = paused.register(rank, warp, &group, name);
                found.ok_or_else(|| format!("there is no register {name} here"))
            };
            values = names.iter().map(find).collect::<Result<_, _>>()?;
        }
        for value in &values {
            self.say(&value::register(value, None)?);
        }
        if values.is_empty() {
            self.say("the code here has no registers");
        }
        Ok(())
    }

    fn info_warps(&mut self, paused: &dyn Paused) -> Result<(), String> {
        let rank = self.rank(paused)?;
        let mut rows: Vec<[String; 4]> = Vec::new();
        for warp in 0..paused.warps() {
            let mut groups = paused.groups(rank, warp);
            groups.sort_by_key(|group| group.lanes.trailing_zeros());
            if groups.is_empty() {
                rows.push([format!("  {warp}"), String::new(), String::new(), {
                    "has exited".to_owned()
                }]);
            }
            for group in groups {
                let is_focused = warp == self.focus.warp && group.lanes >> self.focus.lane & 1 != 0;
                let mark = if is_focused { "*" } else { " " };
                let place = match (&self.code, group.instruction) {
                    (Some(code), Some(id)) => format!("{}, *{}", code.place(id), id.index()),
                    _ => String::new(),
                };
                let state = self.state(paused, &group);
                rows.push([format!("{mark} {warp}"), lanes(group.lanes), place, state]);
            }
        }
        let width = |column: usize| {
            let cells = rows.iter().map(|row| row[column].chars().count());
            cells.max().unwrap_or(0)
        };
        let widths = [width(0), width(1), width(2)];
        for [warp, lanes, place, state] in &rows {
            let [first, second, third] = widths;
            self.say(&format!(
                "{warp:<first$}  {lanes:<second$}  {place:<third$}  {state}"
            ));
        }
        Ok(())
    }

    fn info_barriers(&mut self, paused: &dyn Paused) -> Result<(), String> {
        let rank = self.rank(paused)?;
        let mut texts = Vec::new();
        for barrier in paused.barriers(rank) {
            let (arrived, expected) = (barrier.arrived_threads(), barrier.expected);
            let number = barrier.barrier;
            texts.push(format!(
                "barrier {number}: {arrived} of {expected} threads are there"
            ));
            for (warp, &mask) in barrier.arrived.iter().enumerate() {
                let missing = paused.live(rank, warp as u32) & !mask;
                let parts = [(mask, "there"), (missing, "missing")];
                let parts = parts.into_iter().filter(|(mask, _)| *mask != 0);
                let parts: Vec<String> = parts
                    .map(|(mask, what)| format!("{} {what}", lanes(mask)))
                    .collect();
                if !parts.is_empty() {
                    texts.push(format!("  warp {warp}: {}", parts.join(", ")));
                }
            }
        }
        let mut seen = Vec::new();
        for warp in 0..paused.warps() {
            for group in paused.groups(rank, warp) {
                if let LaneState::Mbarrier { rank: of, address } = group.state
                    && !seen.contains(&(of, address))
                {
                    seen.push((of, address));
                    let text = mbarrier(paused, of, address);
                    texts.push(format!("mbarrier at {address:#x}{text}"));
                }
            }
        }
        match texts.is_empty() {
            true => self.say("no lanes wait at a barrier"),
            false => self.say(&texts.join("\n")),
        }
        Ok(())
    }

    fn info_launch(&mut self, state: State<'_>) {
        self.say(&format!("kernel `{}`", state.kernel.name()));
        if let Some(paused) = state.paused {
            let (grid, block) = (triple(paused.grid()), triple(paused.block_extents()));
            self.say(&format!("grid {grid}, block {block}"));
            let blocks: Vec<String> = paused.blocks().into_iter().map(triple).collect();
            self.say(&format!("running: {}", blocks.join(", ")));
        }
        for (index, param) in state.kernel.params().iter().enumerate() {
            let at = param.offset as usize;
            let bytes = self
                .params
                .get(at..at + param.bytes as usize)
                .unwrap_or(&[]);
            let value = match bytes.len() {
                1 | 2 | 4 | 8 => {
                    value::show(bytes, Scalar::U64, Some(Format::Hexadecimal)).unwrap_or_default()
                }
                bytes => format!("{bytes} bytes"),
            };
            self.say(&format!("parameter {index}, `{}`: {value}", param.name));
        }
    }

    fn info_breakpoints(&mut self) {
        let mut texts = Vec::new();
        for point in &self.breakpoints {
            let place = match &point.place {
                Location::Line { file, line } => match file {
                    Some(file) => format!("{file}:{line}"),
                    None => format!("line {line}"),
                },
                Location::Instruction(number) => format!("*{number}"),
                Location::Name(name) => name.clone(),
            };
            let at: Vec<String> = point
                .at
                .iter()
                .map(|id| format!("*{}", id.index()))
                .collect();
            let at = match at.is_empty() {
                true => "nowhere in this kernel".to_owned(),
                false => at.join(", "),
            };
            texts.push(format!("breakpoint {}: {place}: {at}", point.number));
        }
        for point in &self.watchpoints {
            texts.push(format!(
                "watchpoint {}: {}",
                point.number, point.elements.text
            ));
        }
        match texts.is_empty() {
            true => self.say("there are no breakpoints"),
            false => self.say(&texts.join("\n")),
        }
    }

    fn list(&mut self, line: Option<u32>, state: State<'_>) -> Result<(), String> {
        let here = match state.paused.map(|paused| self.group(paused)) {
            Some(Ok((_, group))) => group.instruction,
            _ => None,
        };
        let Some(code) = &mut self.code else {
            return Err("there is no code".to_owned());
        };
        let current = here.and_then(|id| code.line(id)).cloned();
        let (file, middle) = match (line, &self.listed, &current) {
            (Some(line), _, _) => (code.file.clone(), line),
            (None, Some((file, next)), _) => (file.clone(), next.saturating_add(LISTED / 2)),
            (None, None, Some(line)) => (line.file.clone(), line.line),
            (None, None, None) => return Err("no lines are known here: see x/i".to_owned()),
        };
        let lines = code.around(&file, middle, LISTED);
        let Some((last, _)) = lines.last() else {
            return Err(format!("{file} has no line {middle}, or cannot be read"));
        };
        let (last, width) = (*last, last.to_string().len());
        let mut shown = Vec::new();
        for (number, text) in lines {
            let is_here = current
                .as_ref()
                .is_some_and(|line| (&line.file, line.line) == (&file, number));
            let mark = if is_here { "=>" } else { "  " };
            let number = format!("{number:>width$}");
            shown.push(format!("{mark} {number}\t{text}").trim_end().to_owned());
        }
        self.say(&shown.join("\n"));
        self.listed = Some((file, last.saturating_add(1)));
        Ok(())
    }

    fn disassemble(&mut self, number: Option<u64>, state: State<'_>) -> Result<(), String> {
        let here = match state.paused.map(|paused| self.group(paused)) {
            Some(Ok((_, group))) => group.instruction,
            _ => None,
        };
        let count = state.kernel.instruction_count();
        let middle = match number {
            None => here.map_or(0, InstructionId::index),
            Some(number) => usize::try_from(number).unwrap_or(usize::MAX),
        };
        if middle >= count {
            return Err(format!(
                "there is no instruction {middle}: the kernel has {count}"
            ));
        }
        let first = middle.saturating_sub(DISASSEMBLED / 2);
        let Some(code) = &self.code else {
            return Err("there is no code".to_owned());
        };
        let mut shown = Vec::new();
        for index in first..count.min(first + DISASSEMBLED) {
            let Some(id) = state.kernel.instruction_id(index) else {
                break;
            };
            for (label, at) in code.labels() {
                if at == id {
                    shown.push(format!("{label}:"));
                }
            }
            let mark = if here == Some(id) { "=>" } else { "  " };
            shown.push(format!("{mark} {}", code.instruction(id)));
        }
        self.say(&shown.join("\n"));
        Ok(())
    }

    fn backtrace(&mut self, paused: &dyn Paused) -> Result<(), String> {
        let (_, group) = self.group(paused)?;
        let Some(code) = &self.code else {
            return Err("there is no code".to_owned());
        };
        let mut shown: Vec<String> = Vec::new();
        for id in group
            .instruction
            .into_iter()
            .chain(group.calls.iter().copied())
        {
            let inlined = code.inlined(id);
            for location in inlined.iter().take(inlined.len().saturating_sub(1)) {
                let name = location.function.as_deref().unwrap_or("?");
                let place = format!("{}:{}", location.file, location.line);
                shown.push(format!("{name} at {place} (inlined)"));
            }
            let name = code.function(id);
            let own = inlined.last().filter(|location| location.line != 0);
            let place = match own {
                Some(location) => format!("{}:{}", location.file, location.line),
                None => code.place(id),
            };
            // Where a compiler does not say what it has inlined, the line is of another file.
            let of_kernel = code.place(id);
            let inlined = match inlined.len() == 1 && of_kernel != place {
                true => format!(" (inlined from {of_kernel})"),
                false => String::new(),
            };
            shown.push(format!(
                "{name} at {place}{inlined}, {}",
                code.instruction(id)
            ));
        }
        for (frame, text) in shown.iter().enumerate() {
            self.say(&format!("#{frame}  {text}"));
        }
        Ok(())
    }
}

/// What an mbarrier still waits for, in words that follow its address.
fn mbarrier(paused: &dyn Paused, rank: u32, address: u32) -> String {
    let Some(state) = paused.mbarrier(rank, address) else {
        return ", where there is none".to_owned();
    };
    let arrived = state.expected.saturating_sub(state.pending);
    let (parity, expected) = (state.parity, state.expected);
    let bytes = match state.pending_bytes {
        0 => String::new(),
        bytes => format!(", {bytes} bytes to come"),
    };
    format!(": the phase of parity {parity} has {arrived} of {expected} arrivals{bytes}")
}
