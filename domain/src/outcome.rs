//! Why a Task Attempt ended.

/// Why a Task Attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The workload exited with 0 and its result was captured.
    Success,
    /// The workload exited with another code, or died of a signal; its result was captured.
    WorkloadCommandExit,
    /// The Workspace or the Sandbox could not be prepared; the workload never started.
    PreparationFailure,
    /// The command could not be executed in the Sandbox.
    LaunchFailure,
    /// The workload ran, but not all of what it left could be captured.
    ResultCaptureFailure,
    /// isobox was interrupted or killed.
    Interruption,
    /// A limit of the policy ended the workload.
    LimitExceeded,
}

impl Outcome {
    /// Every outcome.
    pub const ALL: [Self; 7] = [
        Self::Success,
        Self::WorkloadCommandExit,
        Self::PreparationFailure,
        Self::LaunchFailure,
        Self::ResultCaptureFailure,
        Self::Interruption,
        Self::LimitExceeded,
    ];

    /// The name in records and output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::WorkloadCommandExit => "workload_command_exit",
            Self::PreparationFailure => "preparation_failure",
            Self::LaunchFailure => "launch_failure",
            Self::ResultCaptureFailure => "result_capture_failure",
            Self::Interruption => "interruption",
            Self::LimitExceeded => "limit_exceeded",
        }
    }

    /// Whether a result of this outcome may be promoted: the workload ended by itself and was captured whole.
    pub const fn is_promotable(self) -> bool {
        matches!(self, Self::Success | Self::WorkloadCommandExit)
    }
}

/// How the process of the Workload Command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It exited with a code, 0 to 255.
    Code(u8),
    /// It died of a signal.
    Signal(u8),
}

impl Exit {
    /// The exit code that isobox passes on: the workload's own, or 128 + signal.
    pub const fn passed_on(self) -> u8 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => 128u8.saturating_add(signal),
        }
    }
}

/// What an attempt used. Values that were not measured are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResourceUsage {
    /// CPU time in user mode of all processes that were waited for, in microseconds.
    pub user_cpu_us: Option<u64>,
    /// CPU time in the kernel of all processes that were waited for, in microseconds.
    pub system_cpu_us: Option<u64>,
    /// Peak resident memory in bytes, of what `peak_memory_of` says.
    pub peak_memory_bytes: Option<u64>,
    /// Whose peak that is.
    pub peak_memory_of: Option<MemoryScope>,
}

/// Whose memory a peak is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryScope {
    /// The largest single process.
    LargestProcess,
    /// The whole tree, by a cgroup.
    Tree,
}
