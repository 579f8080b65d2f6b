// The documents of the API, as docs/guide/rest.md describes them. Keys that the page does not use are left out.

export type JobState =
  | 'pending'
  | 'held'
  | 'starting'
  | 'running'
  | 'suspended'
  | 'migrating'
  | 'resizing'
  | 'stopping'
  | 'succeeded'
  | 'failed'
  | 'cancelled';

export interface List<T> {
  items: T[];
  next_cursor: string | null;
  total: number | null;
}

export interface GpuRange {
  min: number;
  max: number;
  allowed?: number[];
}

export interface JobSpec {
  name: string;
  user: string;
  command: string | string[];
  image: string | null;
  framework: string | null;
  launch: string;
  gpus: GpuRange;
  servers: number;
  workdir: string;
  env: Record<string, string> | null;
  labels: Record<string, string>;
  priority: number;
  time_limit_s: number | null;
  estimate_s: number | null;
  checkpoint: { dir: string | null; signal: string; grace_s: number };
  preemptible: boolean;
  migratable: boolean;
  freeze: boolean;
  resize: string;
  [key: string]: unknown;
}

export interface Placement {
  server: string;
  gpus: string[];
  pid: number | null;
}

export interface Attempt {
  attempt: number;
  server: string;
  gpus: string[];
  began_at: string | null;
  ended_at: string | null;
}

export interface Telemetry {
  unit?: string;
  per_s?: number | null;
  loss_by_epoch?: number[];
  gpu_utilization_pct?: number | null;
  gpu_memory_used_bytes?: number | null;
  start_up_s?: number | null;
  checkpoint_bytes?: number | null;
  checkpoint_s?: number | null;
}

export interface Job {
  id: number;
  name: string;
  user: string;
  state: JobState;
  state_since: string;
  reason: { code: string; text: string } | null;
  priority: number;
  spec: JobSpec;
  placement: Placement[];
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
  wait_s: number;
  run_s: number;
  gpu_seconds: number;
  attempt: number;
  migrations: number;
  preemptions: number;
  resizes: number;
  progress: {
    done: number;
    total: number | null;
    unit: string | null;
    rate_per_s: number | null;
    updated_at: string | null;
  } | null;
  exit: { code: number | null; signal: number | null } | null;
  failure: { kind: string; message: string; exit_code: number | null; signal: number | null } | null;
  estimate?: Estimate | null;
  attempts?: Attempt[];
  telemetry?: Telemetry | null;
}

export interface TimeRange {
  p10: string;
  p50: string;
  p90: string;
}

export interface Estimate {
  start: TimeRange | null;
  finish: TimeRange | null;
  basis_text: string | null;
  text: string | null;
}

// Another request of the job that was tried: what would come of it.
export interface Suggestion {
  what: string;
  command: string;
  patch: Record<string, unknown> | null;
  server: string | null;
  predicted_start: TimeRange | null;
  predicted_finish: TimeRange | null;
  finish_as_it_is: TimeRange | null;
}

export interface Explanation {
  verdict: string;
  summary: string;
  reasons: { code: string; text: string; blocking: boolean }[];
  position?: number | null;
  queue_length?: number;
  standing: string | null;
  estimate: Estimate | null;
  suggestions: Suggestion[];
  servers: { server: string; free: number; needed: number; fits: boolean; text: string }[];
  policy: string;
  evaluated_at: string;
}

export interface GpuProcess {
  pid: number;
  user: string;
  program: string;
  memory_bytes: number | null;
}

export interface Gpu {
  identifier: string;
  server: string;
  index: number;
  name: string | null;
  simulated: boolean;
  condition: 'free' | 'allocated' | 'outside' | 'unavailable' | 'quarantined';
  job_id: number | null;
  utilization_pct: number | null;
  memory_used_bytes: number | null;
  memory_total_bytes: number | null;
  temperature_celsius: number | null;
  power_watts: number | null;
  processes: GpuProcess[];
}

export interface Server {
  name: string;
  state: string;
  state_reason: string | null;
  simulated: boolean;
  cpus: number | null;
  memory_total_bytes: number | null;
  memory_used_bytes: number | null;
  job_files_bytes: number | null;
  cpu_utilization_pct: number | null;
  agent_version: string | null;
  driver_version: string | null;
  last_contact_at: string | null;
  gpus: Gpu[];
}

export interface Cluster {
  version: string;
  started_at: string;
  now: string;
  policy: string;
  jobs: Record<JobState, number>;
  gpus: { total: number; allocated: number; free: number };
  servers_up: number;
  servers: Server[];
}

export interface PolicyParameter {
  name: string;
  type: string;
  unit: string;
  default: string;
  min: number | null;
  max: number | null;
  choices: string[];
  help: string;
}

export interface PolicyInfo {
  name: string;
  title: string;
  summary: string;
  good_for: string;
  weak_for: string;
  placement: string;
  needs: string[];
  preemptive: boolean;
  elastic: boolean;
  parameters: PolicyParameter[];
  notes: string[];
}

export interface Policy {
  name: string;
  parameters: Record<string, unknown>;
  since: string;
  by: string;
  previous: string | null;
  undo_until: string | null;
  failure: { name: string; text: string; at: string } | null;
  notes: string[];
}

export interface PolicyChange {
  name: string;
  parameters: Record<string, unknown>;
  since: string;
  by: string;
  reason: string | null;
}

export interface ClusterEvent {
  seq: number;
  at: string;
  kind: string;
  job_id: number | null;
  server: string | null;
  actor: { type: string; name: string };
  from: string | null;
  to: string | null;
  text: string;
}

// Policies continued from the present, the one in force first.
export interface TriedPolicy {
  name: string;
  in_force: boolean;
  avg_wait_s: number | null;
  avg_jct_s: number | null;
  p95_jct_s: number | null;
  makespan_s: number | null;
  gpu_allocation_pct: number | null;
  jobs: number;
  draws: number;
  failure: string | null;
}

export interface Tried {
  policies: TriedPolicy[];
  jobs: { job_id: number; expected: { policy: string; start: string | null; finish: string | null }[] }[];
  left_out: number[];
  evaluated_at: string;
  took_s: number;
}

export interface Self {
  user: string;
  role: string;
}

export interface Effect {
  id: number;
  name: string;
  effect: { text: string; cost_s: number | null };
}

export interface Problem {
  status: number; // 0: no answer
  code: string;
  detail: string;
  notes: string[];
  hints: { text: string }[];
  errors: { pointer: string; detail: string }[];
  request_id?: string | null;
}

export interface LeftFile {
  name: string; // percent-encoded, as is the path
  path: string;
  kind: 'file' | 'folder' | 'link' | 'other';
  bytes: number | null;
  changed_at: string | null;
}

export interface LeftFiles {
  path: string;
  kind: 'file' | 'folder';
  items: LeftFile[] | null;
  total: number | null;
}

// By how much the policy in force does worse than the one that follows; above 0: that one does better.
export interface Regret {
  at: string;
  since: string;
  in_force: string;
  shadow: string;
  jobs: number;
  mean_s: number;
  p10_s: number;
  p90_s: number;
}

export interface ShadowPolicy {
  name: string | null;
  since: string | null;
  by: string | null;
  latest: Regret | null;
  total_s: number; // over all windows and jobs
  windows: number;
}

// Values at equal steps; null: nothing is known of that step.
export interface Series {
  from: string;
  to: string;
  step_s: number;
  series: { name: string; values: (number | null)[] }[];
}
