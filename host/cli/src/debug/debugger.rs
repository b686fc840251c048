//! The debugger: an observer that stops, asks what to do, and goes on.

use super::code::Code;
use super::command::{self, Command};
use super::focus::Focus;
use super::input::Input;
use super::stops::{Breakpoint, Goal, Known, Unit, Watchpoint};
use super::value::triple;
use crate::emulate::Stepper;
use crate::output;
use ptx_emulator::sanitize::Tool;
use ptx_emulator::stepping::{LaneState, Paused, Resume, Step};
use ptx_emulator::{
    Args, Event, InstructionId, Interest, Kernel, LaunchConfig, LaunchContext, LaunchError, Memory,
    Observer, Sanitizer,
};
use std::collections::HashMap;
use std::io::Write as _;
use std::ops::ControlFlow;
use warpladder_lab::emulate::Scalar;

/// How a session ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Quit,
    Again,
}

/// What runs, or has run.
#[derive(Clone, Copy)]
pub(super) struct State<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) memory: &'a Memory,
    /// None at the end of the launch.
    pub(super) paused: Option<&'a dyn Paused>,
}

impl<'a> State<'a> {
    pub(super) fn paused(self) -> Result<&'a dyn Paused, String> {
        self.paused.ok_or_else(|| ENDED.to_owned())
    }
}

const ENDED: &str = "the kernel has ended: `continue` goes on behind it, `run` begins again";
pub(super) const NOTHING: &str = "nothing runs: `run` begins again";

/// The observer of a launch.
pub(super) struct Debugger {
    pub(super) sanitizer: Sanitizer,
    /// [`Sanitizer::noted`] when findings were looked at last.
    pub(super) noted: usize,
    pub(super) known: Vec<Known>,
    input: Input,
    pub(super) breakpoints: Vec<Breakpoint>,
    pub(super) watchpoints: Vec<Watchpoint>,
    pub(super) last_number: u32,
    pub(super) goal: Goal,
    pub(super) focus: Focus,
    pub(super) code: Option<Code>,
    /// Blocks that run in turn: those of a cluster, or of a cooperative launch.
    pub(super) cluster: [u32; 3],
    /// The values of the parameters.
    pub(super) params: Vec<u8>,
    /// The types of the arrays that parameters point to, by address.
    pub(super) arrays: Vec<(u64, Scalar)>,
    /// The launch has begun, and nothing of it has run.
    is_fresh: bool,
    /// Whether the next launch runs to its first stop at once.
    runs_on: bool,
    /// Where each warp was when a breakpoint stopped it there.
    pub(super) reported: HashMap<([u32; 3], u32), InstructionId>,
    /// What ran last.
    pub(super) last: Option<Step>,
    /// The line behind those that were listed last.
    pub(super) listed: Option<(String, u32)>,
    /// The command that an empty line repeats.
    repeated: Option<Command>,
    /// What is not written yet.
    pub(super) out: String,
    ending: Option<Ending>,
    error: Option<std::io::Error>,
    /// On a worker that is not asked.
    is_detached: bool,
}

impl Debugger {
    pub(super) fn new() -> Self {
        Debugger {
            sanitizer: Sanitizer::new(&Tool::ALL),
            noted: 0,
            known: Vec::new(),
            input: Input::new(),
            breakpoints: Vec::new(),
            watchpoints: Vec::new(),
            last_number: 0,
            goal: Goal::Stop,
            focus: Focus {
                block: [0; 3],
                warp: 0,
                lane: 0,
            },
            code: None,
            cluster: [1; 3],
            params: Vec::new(),
            arrays: Vec::new(),
            is_fresh: false,
            runs_on: false,
            reported: HashMap::new(),
            last: None,
            listed: None,
            repeated: None,
            out: String::new(),
            ending: None,
            error: None,
            is_detached: false,
        }
    }

    /// What to do behind the last launch: whether to begin again.
    pub(super) fn after(&mut self) -> anyhow::Result<bool> {
        if self.ending.is_none() {
            self.say("the run has ended");
            self.prompt(None);
        }
        self.flush();
        if let Some(error) = self.error.take() {
            return Err(error.into());
        }
        let again = self.ending.take() == Some(Ending::Again);
        if again {
            self.sanitizer = Sanitizer::new(&Tool::ALL);
            (self.noted, self.goal, self.last) = (0, Goal::Stop, None);
            self.known.clear();
            self.watchpoints.clear();
            self.runs_on = true;
        }
        Ok(again)
    }

    /// Adds a line to what is shown.
    pub(super) fn say(&mut self, line: &str) {
        self.out += line.trim_end();
        self.out.push('\n');
    }

    fn flush(&mut self) {
        let text = std::mem::take(&mut self.out);
        let mut out = output::stdout();
        if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            self.error.get_or_insert(error);
            self.ending = Some(Ending::Quit);
        }
    }

    /// Asks for commands until one goes on.
    fn prompt(&mut self, state: Option<State<'_>>) {
        loop {
            self.flush();
            if self.ending.is_some() {
                return;
            }
            let line = match self.input.line() {
                Ok(Some(line)) => line,
                Ok(None) => {
                    self.ending = Some(Ending::Quit);
                    return;
                }
                Err(error) => {
                    self.error.get_or_insert(error);
                    self.ending = Some(Ending::Quit);
                    return;
                }
            };
            crate::interrupt::forget();
            let done = command::parse(&line).and_then(|command| {
                let repeats = line.trim().is_empty() && self.input.is_terminal();
                let command = match command {
                    None if repeats => self.repeated.clone(),
                    command => command,
                };
                match command {
                    Some(command) => self.execute(command, state),
                    None => Ok(ControlFlow::Continue(())),
                }
            });
            match done {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => return,
                Err(message) => self.say(&message),
            }
        }
    }

    /// Executes a command; `Break` goes on with the launch.
    fn execute(
        &mut self,
        command: Command,
        state: Option<State<'_>>,
    ) -> Result<ControlFlow<()>, String> {
        let goes_on = matches!(
            command,
            Command::Continue | Command::Step(_) | Command::Next(_) | Command::Stepi(_)
        );
        let repeats = goes_on || matches!(command, Command::List(None));
        self.repeated = repeats.then(|| command.clone());
        match command {
            Command::Quit => {
                self.ending = Some(Ending::Quit);
                return Ok(ControlFlow::Break(()));
            }
            Command::Run => {
                if !self.is_fresh {
                    self.ending = Some(Ending::Again);
                }
                self.goal = Goal::Stop;
                return Ok(ControlFlow::Break(()));
            }
            Command::Help => self.out += &command::help(),
            Command::Delete(number) => self.delete(number)?,
            Command::Break(place) => self.set_breakpoint(place)?,
            command => {
                let state = state.ok_or(NOTHING)?;
                return self.execute_at(command, state);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Executes a command that needs a launch.
    pub(super) fn execute_at(
        &mut self,
        command: Command,
        state: State<'_>,
    ) -> Result<ControlFlow<()>, String> {
        match command {
            Command::Continue => {
                self.goal = Goal::Stop;
                return Ok(ControlFlow::Break(()));
            }
            Command::Step(count) => self.begin_steps(Unit::Line, count, state)?,
            Command::Next(count) => self.begin_steps(Unit::OwnLine, count, state)?,
            Command::Stepi(count) => self.begin_steps(Unit::Instruction, count, state)?,
            Command::Block(block) => return self.focus_block(block, state.paused()?),
            Command::Warp(warp) => {
                let paused = state.paused()?;
                let warps = paused.warps();
                if warp >= warps {
                    return Err(format!("a block has {warps} warps, from 0 on"));
                }
                self.focus.warp = warp;
                self.focus_live_lane(paused);
                self.show_focus(paused);
                return Ok(ControlFlow::Continue(()));
            }
            Command::Lane(lane) => {
                if lane >= 32 {
                    return Err("a warp has 32 lanes, from 0 on".to_owned());
                }
                self.focus.lane = lane;
                self.show_focus(state.paused()?);
                return Ok(ControlFlow::Continue(()));
            }
            Command::Watch(elements) => {
                self.set_watchpoint(elements, state)?;
                return Ok(ControlFlow::Continue(()));
            }
            Command::Findings => {
                let findings = match state.paused {
                    Some(_) => self.sanitizer.findings_so_far(),
                    None => self.sanitizer.findings(),
                };
                for finding in &findings {
                    self.say(&finding.to_string());
                }
                if findings.is_empty() {
                    self.say("no findings so far");
                }
                return Ok(ControlFlow::Continue(()));
            }
            command => {
                self.show(command, state)?;
                return Ok(ControlFlow::Continue(()));
            }
        }
        Ok(ControlFlow::Break(()))
    }

    /// What happens next, for a launch that does not stop.
    fn resume(&mut self, paused: &dyn Paused, step: &Step) -> Resume {
        let Focus { block, warp, .. } = self.focus;
        let is_other = step.block == block && step.warp != warp;
        if matches!(self.goal, Goal::Steps { .. }) && is_other {
            let mut groups = paused.groups(step.rank, warp).into_iter();
            if groups.any(|group| group.state == LaneState::Ready) {
                return Resume::Warp(warp);
            }
        }
        if let Goal::Steps { has_begun, .. } = &mut self.goal
            && (step.block, step.warp) == (block, warp)
        {
            *has_begun = true;
        }
        self.reported.remove(&(step.block, step.warp));
        self.last = Some(*step);
        self.is_fresh = false;
        Resume::Run
    }

    fn begin_launch(&mut self, launch: &LaunchContext<'_>) {
        let code = Code::new(launch.kernel);
        for point in &mut self.breakpoints {
            point.at = code.find(&point.place).unwrap_or_default();
        }
        self.code = Some(code);
        self.cluster = match launch.cooperative {
            true => launch.grid,
            false => launch.cluster,
        };
        self.is_fresh = true;
        (self.goal, self.last, self.listed) = (Goal::Stop, None, None);
        self.reported.clear();
        self.watchpoints.clear();
        (self.noted, self.known) = (0, Vec::new());
    }

    fn end_launch(&mut self, launch: &LaunchContext<'_>) {
        if self.ending.is_some() {
            return;
        }
        let findings = self.sanitizer.findings();
        self.new_findings(&findings);
        self.say(&format!("kernel `{}` has ended", launch.kernel.name()));
        self.is_fresh = false;
        self.prompt(Some(State {
            kernel: launch.kernel,
            memory: launch.memory,
            paused: None,
        }));
    }
}

impl Observer for Debugger {
    const INTEREST: Interest = Sanitizer::INTEREST.with(Interest::LAUNCH);
    const UNORDERED_LOADS: bool = Sanitizer::UNORDERED_LOADS;
    const MARKS_WRITTEN: bool = Sanitizer::MARKS_WRITTEN;
    const STRONG_IN_ORDER: bool = Sanitizer::STRONG_IN_ORDER;
    const STEPS: bool = true;

    fn fork(&self) -> Self {
        Debugger {
            sanitizer: self.sanitizer.fork(),
            is_detached: true,
            ..Debugger::new()
        }
    }

    fn join(&mut self, worker: Self) {
        self.sanitizer.join(worker.sanitizer);
    }

    fn event(&mut self, event: Event<'_>) {
        self.sanitizer.notify(event);
        match event {
            Event::LaunchStart(launch) => self.begin_launch(launch),
            Event::LaunchEnd {
                launch,
                fault: None,
            } => self.end_launch(launch),
            _ => {}
        }
    }

    fn paused(&mut self, paused: &dyn Paused) -> Resume {
        if self.is_detached {
            return Resume::Run;
        }
        if self.ending.is_some() {
            return Resume::Stop;
        }
        let state = State {
            kernel: paused.kernel(),
            memory: paused.memory(),
            paused: Some(paused),
        };
        let Some(step) = paused.step() else {
            self.meet_fault(state);
            return Resume::Run;
        };
        let starts = self.is_fresh && self.last.is_none() && self.reported.is_empty();
        let stops = match starts {
            true => self.start(paused, &step),
            false => self.stops(paused, &step),
        };
        if stops {
            self.show_focus(paused);
            self.listed = None;
            self.reported
                .insert((step.block, step.warp), step.instruction);
            self.prompt(Some(state));
            if self.ending.is_some() {
                return Resume::Stop;
            }
        }
        self.resume(paused, &step)
    }
}

impl Debugger {
    /// Says what is launched; whether to ask before it runs.
    fn start(&mut self, paused: &dyn Paused, step: &Step) -> bool {
        self.params = paused.params().to_vec();
        let name = paused.kernel().name();
        let (grid, block) = (triple(paused.grid()), triple(paused.block_extents()));
        self.say(&format!("kernel `{name}`, grid {grid}, block {block}"));
        self.focus_on(step);
        match std::mem::take(&mut self.runs_on) {
            true => self.stops(paused, step),
            false => true,
        }
    }

    fn meet_fault(&mut self, state: State<'_>) {
        let Some((paused, fault)) = state.paused.and_then(|p| Some((p, p.fault()?))) else {
            return;
        };
        self.say(&fault.to_string());
        self.focus.block = fault.block;
        if let Some([x, y, z]) = fault.thread {
            let [width, height, _] = paused.block_extents();
            let linear = x + width * (y + height * z);
            (self.focus.warp, self.focus.lane) = (linear / 32, linear % 32);
        }
        self.focus_live_lane(paused);
        self.show_focus(paused);
        self.is_fresh = false;
        self.prompt(Some(state));
    }
}

impl Stepper for Debugger {
    fn set_arrays(&mut self, arrays: Vec<(u64, Scalar)>) {
        self.arrays = arrays;
    }

    fn launch(
        &mut self,
        kernel: &Kernel,
        memory: &Memory,
        config: &LaunchConfig,
        args: &Args,
    ) -> Result<(), LaunchError> {
        let ended = kernel.launch_observed(memory, config, args, self);
        ended.map(|_| ())
    }

    fn is_left(&self) -> bool {
        self.ending.is_some()
    }
}
