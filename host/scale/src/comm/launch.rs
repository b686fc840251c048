//! Which rank this process is: from the environment, as launchers set it.
//!
//! | launcher | rank, size, rank on its machine | address |
//! |---|---|---|
//! | torchrun | `RANK`, `WORLD_SIZE`, `LOCAL_RANK` | `MASTER_ADDR`, `MASTER_PORT` |
//! | Open MPI | `OMPI_COMM_WORLD_RANK`, `_SIZE`, `_LOCAL_RANK` | as torchrun's, or below |
//! | MPICH, Intel MPI | `PMI_RANK`, `PMI_SIZE`, `MPI_LOCALRANKID` | the same |
//! | Slurm | `SLURM_PROCID`, `SLURM_NTASKS`, `SLURM_LOCALID` | `SLURM_LAUNCH_NODE_IPADDR`, a port from `SLURM_JOB_ID` |
//!
//! `WARPLADDER_RENDEZVOUS` names the meeting place where the launcher does not: `file:PATH` in a
//! folder that all machines share, or `tcp:HOST:PORT` of the machine of rank 0. It goes before the
//! launcher's. Sources: torch.distributed.run, "Environment Variables"; Slurm's srun(1), "OUTPUT
//! ENVIRONMENT VARIABLES"; Open MPI's mpirun(1).

use super::rendezvous::Rendezvous;
use crate::error::CommError;

/// Where the meeting place is named.
const RENDEZVOUS: &str = "WARPLADDER_RENDEZVOUS";

/// What a launcher says to a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The launcher.
    pub launcher: &'static str,
    /// The number of this process, from 0.
    pub rank: usize,
    /// How many processes there are.
    pub size: usize,
    /// The number of this process among those of its machine: which GPU it takes.
    pub local_rank: usize,
    /// Where the processes find each other.
    pub rendezvous: Rendezvous,
}

/// The variables of a launcher.
struct Names {
    launcher: &'static str,
    rank: &'static str,
    size: &'static str,
    local_rank: &'static str,
}

/// In this order: `mpirun` in a job of Slurm sets both, and starts the processes.
const LAUNCHERS: [Names; 4] = [
    Names {
        launcher: "torchrun",
        rank: "RANK",
        size: "WORLD_SIZE",
        local_rank: "LOCAL_RANK",
    },
    Names {
        launcher: "Open MPI",
        rank: "OMPI_COMM_WORLD_RANK",
        size: "OMPI_COMM_WORLD_SIZE",
        local_rank: "OMPI_COMM_WORLD_LOCAL_RANK",
    },
    Names {
        launcher: "MPICH",
        rank: "PMI_RANK",
        size: "PMI_SIZE",
        local_rank: "MPI_LOCALRANKID",
    },
    Names {
        launcher: "Slurm",
        rank: "SLURM_PROCID",
        size: "SLURM_NTASKS",
        local_rank: "SLURM_LOCALID",
    },
];

impl Launch {
    /// What the environment of this process says; `None` where no launcher started it.
    ///
    /// # Errors
    /// As [`Launch::read`].
    pub fn of_environment() -> Result<Option<Self>, CommError> {
        Self::read(|name| std::env::var(name).ok())
    }

    /// The same of variables that `variable` knows.
    ///
    /// # Errors
    /// [`CommError::Launch`] where a launcher's variables contradict each other, are no numbers, or
    /// name no meeting place.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, CommError> {
        let is_set =
            |names: &&Names| variable(names.rank).is_some() && variable(names.size).is_some();
        let Some(names) = LAUNCHERS.iter().find(is_set) else {
            return Ok(None);
        };
        let refused = |message: String| CommError::Launch(message);
        let number = |name: &str| -> Result<usize, CommError> {
            let text = variable(name).unwrap_or_default();
            let number = text.trim().parse();
            number.map_err(|_| refused(format!("{name} is {text:?}: it must be a number")))
        };
        let (rank, size) = (number(names.rank)?, number(names.size)?);
        if rank >= size {
            return Err(refused(format!(
                "{} is {rank} and {} {size}: ranks are counted from 0",
                names.rank, names.size
            )));
        }
        let local_rank = match variable(names.local_rank) {
            Some(_) => number(names.local_rank)?,
            None => rank,
        };
        Ok(Some(Launch {
            launcher: names.launcher,
            rank,
            size,
            local_rank,
            rendezvous: meeting_place(&variable, size)?,
        }))
    }
}

/// Where the processes find each other.
fn meeting_place(
    variable: &impl Fn(&str) -> Option<String>,
    size: usize,
) -> Result<Rendezvous, CommError> {
    if let Some(place) = variable(RENDEZVOUS) {
        return place.parse();
    }
    if let (Some(host), Some(port)) = (variable("MASTER_ADDR"), variable("MASTER_PORT")) {
        return format!("tcp:{host}:{port}").parse();
    }
    let job = variable("SLURM_JOB_ID").and_then(|job| job.trim().parse::<u64>().ok());
    if let (Some(host), Some(job)) = (variable("SLURM_LAUNCH_NODE_IPADDR"), job) {
        // Above the ports of services and below those that systems give away by themselves.
        let port = 20_000 + job % 10_000;
        return format!("tcp:{host}:{port}").parse();
    }
    if size == 1 {
        return Ok(Rendezvous::Alone);
    }
    Err(CommError::Launch(format!(
        "{size} processes have no meeting place: set MASTER_ADDR and MASTER_PORT, or {RENDEZVOUS} to \
         file:PATH or tcp:HOST:PORT"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Option<Launch>, CommError> {
        Launch::read(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn launchers_are_known() {
        assert_eq!(read(&[]).unwrap(), None);
        let torchrun = [
            ("RANK", "3"),
            ("WORLD_SIZE", "4"),
            ("LOCAL_RANK", "1"),
            ("MASTER_ADDR", "node0"),
            ("MASTER_PORT", "29500"),
        ];
        let launch = read(&torchrun).unwrap().unwrap();
        assert_eq!(
            (launch.launcher, launch.rank, launch.size),
            ("torchrun", 3, 4)
        );
        assert_eq!(launch.local_rank, 1);
        assert_eq!(launch.rendezvous, Rendezvous::Tcp("node0:29500".to_owned()));
        let slurm = [
            ("SLURM_PROCID", "1"),
            ("SLURM_NTASKS", "2"),
            ("SLURM_LOCALID", "0"),
            ("SLURM_JOB_ID", "123456"),
            ("SLURM_LAUNCH_NODE_IPADDR", "10.0.0.1"),
        ];
        let launch = read(&slurm).unwrap().unwrap();
        assert_eq!((launch.launcher, launch.local_rank), ("Slurm", 0));
        assert_eq!(
            launch.rendezvous,
            Rendezvous::Tcp("10.0.0.1:23456".to_owned())
        );
        // mpirun in a job of Slurm.
        let mut both = slurm.to_vec();
        both.extend([
            ("OMPI_COMM_WORLD_RANK", "5"),
            ("OMPI_COMM_WORLD_SIZE", "8"),
            ("WARPLADDER_RENDEZVOUS", "file:/shared/id"),
        ]);
        let launch = read(&both).unwrap().unwrap();
        assert_eq!((launch.launcher, launch.rank), ("Open MPI", 5));
        assert_eq!(launch.rendezvous, Rendezvous::File("/shared/id".into()));
        let alone = read(&[("PMI_RANK", "0"), ("PMI_SIZE", "1")])
            .unwrap()
            .unwrap();
        assert_eq!(
            (alone.launcher, alone.rendezvous),
            ("MPICH", Rendezvous::Alone)
        );
    }

    #[test]
    fn contradictions_are_refused_by_name() {
        for (variables, part) in [
            (&[("RANK", "4"), ("WORLD_SIZE", "4")][..], "RANK is 4"),
            (&[("RANK", "x"), ("WORLD_SIZE", "4")], "RANK is \"x\""),
            (
                &[("RANK", "0"), ("WORLD_SIZE", "-1")],
                "WORLD_SIZE is \"-1\"",
            ),
            (&[("RANK", "0"), ("WORLD_SIZE", "2")], "no meeting place"),
            (
                &[
                    ("PMI_RANK", "0"),
                    ("PMI_SIZE", "2"),
                    ("WARPLADDER_RENDEZVOUS", "udp:x"),
                ],
                "udp:x",
            ),
        ] {
            let error = read(variables).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
