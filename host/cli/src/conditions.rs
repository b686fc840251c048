//! The device while kernels were timed, in one line of text.

use warpladder_lab::run::Record;

/// Driver, clocks, temperature, power limit, and what held the clocks down; `None` where nothing
/// tells.
pub(super) fn conditions(records: &[Record]) -> Option<String> {
    let told: Vec<&str> = records
        .iter()
        .filter_map(|record| record.throttled.as_deref())
        .collect();
    let driver = records.iter().find_map(|record| record.driver.as_deref());
    let limit = records.iter().find_map(|record| record.power_limit_w);
    let clocks = range(records.iter().filter_map(|record| record.clock_mhz));
    let memory = range(records.iter().filter_map(|record| record.memory_clock_mhz));
    let temperatures = range(records.iter().filter_map(|record| record.temperature_c));
    let parts = [
        driver.map(|driver| format!("driver {driver}")),
        clocks.map(|clocks| format!("clock {clocks} MHz")),
        memory.map(|memory| format!("memory clock {memory} MHz")),
        temperatures.map(|temperatures| format!("{temperatures} °C")),
        limit.map(|limit| format!("power limit {limit:.0} W")),
        (!told.is_empty()).then(|| held_down(&told)),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The least and the most of some numbers, one number where they are the same.
fn range(values: impl Iterator<Item = u32> + Clone) -> Option<String> {
    let (least, most) = (values.clone().min()?, values.max()?);
    Some(if least == most {
        least.to_string()
    } else {
        format!("{least} to {most}")
    })
}

/// For how many kernels what held the clocks down.
fn held_down(told: &[&str]) -> String {
    let held = told.iter().filter(|reasons| **reasons != "none");
    let count = held.clone().count();
    let mut reasons: Vec<&str> = held.flat_map(|reasons| reasons.split(' ')).collect();
    reasons.sort_unstable();
    reasons.dedup();
    match count {
        0 => "clocks never held down".to_owned(),
        _ => format!(
            "clocks held down for {count} of {}: {}",
            told.len(),
            reasons.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpladder::engine::emulator::EmulatorEngine;
    use warpladder_lab::catalogue;
    use warpladder_lab::problem::Shape;
    use warpladder_lab::run::{Problems, preflight};

    #[test]
    fn what_is_told_is_said_in_one_line() {
        let rung = catalogue::find("naive").unwrap();
        let engine = EmulatorEngine::new();
        let admitted = preflight(&engine, rung, Shape { m: 2, n: 2, k: 2 }).unwrap();
        let record = Problems::new(1).run(&engine, &admitted, 1).unwrap();
        assert_eq!(conditions(&[record.clone(), record.clone()]), None);
        let told = |clock, throttled: &str| {
            let mut record = record.clone();
            record.driver = Some("580.95".to_owned());
            record.clock_mhz = Some(clock);
            record.temperature_c = Some(40);
            record.power_limit_w = Some(700.0);
            record.throttled = Some(throttled.to_owned());
            record
        };
        let line = conditions(&[told(1980, "none"), told(1500, "power_cap")]).unwrap();
        let expected = "driver 580.95, clock 1500 to 1980 MHz, 40 °C, power limit 700 W, clocks \
            held down for 1 of 2: power_cap";
        assert_eq!(line, expected);
        let line = conditions(&[told(1980, "none")]).unwrap();
        assert!(line.ends_with(", clocks never held down"), "{line}");
    }
}
