// Made by tools/types.mjs from the OpenAPI document of the controller. Not to be edited.

export interface Reason {
  code: string;
  text: string;
}

export interface Member {
  total: number;
  waiting: number;
  running: number;
  succeeded: number;
  failed: number;
  cancelled: number;
  to_come: string;
}

export interface ChangedJobGpu {
  min?: number;
  max?: number;
  allowed?: number[];
}

export interface Resource {
  cpus?: number | null;
  memory_bytes?: number | null;
  gpu_memory_bytes?: number | null;
  gpu_type?: string[];
  shm_bytes?: number | null;
  processes?: number | null;
  pin_cpus?: boolean;
  share?: boolean;
  on?: string[];
  not_on?: string[];
}

export interface Checkpoint {
  dir?: string | null;
  signal?: string;
  grace_s?: number;
  every_s?: number | null;
}

export interface Retry {
  max?: number;
  on?: string[];
  backoff_s?: number;
}

export interface Training {
  family?: string | null;
  epochs?: number | null;
  steps?: number | null;
  batch_size?: number | null;
  target_loss?: number | null;
  budget?: number | null;
  mode?: string | null;
  model_bytes?: number | null;
  largest_tensor_bytes?: number | null;
  checkpoint_bytes?: number | null;
  restart_s?: number | null;
}

export interface ChangedJobResource {
  cpus?: number | null;
  memory_bytes?: number | null;
}

export interface Role {
  name?: string;
  count?: number;
  count_min?: number;
  gpus?: number;
  resources?: ChangedJobResource;
}

export interface Notify {
  on?: string[];
  to?: string;
}

export interface Port {
  port?: number;
  keep_path?: boolean;
}

export interface Snapshot {
  kind?: string;
  id?: string;
  commit?: string;
  changed?: string[];
  dirty_files?: number;
  diff?: string;
  subfolder?: string;
  files?: number;
  bytes?: number;
}

export interface Progress {
  pattern?: string;
  total?: number | null;
}

export interface Spec {
  name?: string;
  user?: string;
  command?: string | string[];
  image?: string | null;
  framework?: string | null;
  launch?: string;
  gpus?: ChangedJobGpu;
  servers?: number;
  resources?: Resource;
  workdir?: string;
  env?: { [key: string]: string } | null;
  labels?: { [key: string]: string };
  priority?: number;
  weight?: number;
  hold?: boolean;
  time_limit_s?: number | null;
  estimate_s?: number | null;
  deadline_s?: number | null;
  checkpoint?: Checkpoint;
  retry?: Retry;
  preemptible?: boolean;
  migratable?: boolean;
  freeze?: boolean;
  resize?: string;
  on_partition?: string;
  output_limit_bytes?: number | null;
  training?: Training;
  after?: number[];
  after_any?: number[];
  not_before?: string | null;
  array?: string | null;
  matrix?: { [key: string]: string[] };
  max_running?: number;
  roles?: Role[];
  mounts?: string[];
  secrets?: string[];
  notify?: Notify[];
  ports?: { [key: string]: Port };
  snapshot?: Snapshot | null;
  setup?: string[];
  progress?: Progress | null;
  pty?: boolean;
}

export interface Placement {
  server: string;
  gpus: string[];
  rank: number;
  pid: number | null;
  image: string | null;
  container_id: string | null;
}

export interface ChangedJobProgress {
  done: number | null;
  total: number | null;
  unit: string;
  epoch: number | null;
  epochs: number | null;
  step: number | null;
  steps: number | null;
  loss: number | null;
  accuracy: number | null;
  loss_is_not_finite: boolean;
  rate_per_s: number | null;
  updated_at: string | null;
}

export interface Start {
  p10: string;
  p50: string;
  p90: string;
}

export interface Estimate {
  start: Start | null;
  finish: Start | null;
  basis: string[];
  basis_text: string | null;
  confidence: string;
  server: string | null;
  text: string | null;
  evaluated_at: string;
  draws: number;
}

export interface Exit {
  code: number | null;
  signal: number | null;
}

export interface Failure {
  kind: string;
  message: string;
  exit_code: number | null;
  signal: number | null;
  label: string | null;
  log_line: number | null;
  last_lines: string[] | null;
}

export interface CheckpointCopy {
  from: string;
  bytes_done: number;
  bytes: number;
  through_controller: boolean;
}

export interface Effect {
  text: string;
  cost_s: number | null;
}

export interface Planned {
  name: string;
  parameters: { [key: string]: unknown };
  at: string;
  by: string;
  planned_at: string;
}

export interface ChosenPolicyFailure {
  name: string;
  code: string;
  text: string;
  at: string;
}

export interface Keep {
  age_s: number;
  jobs: number;
  bytes: number;
  free_bytes: number;
}

export interface Quarantine {
  reason: string;
  since: string;
  until: string;
  times: number;
}

export interface Process {
  pid: number;
  user: string;
  program: string;
  memory_bytes: number | null;
}

export interface Ahead {
  jobs: number;
  gpus: number;
}

export interface JobInListStart {
  p10?: string;
  p50?: string;
  p90?: string;
}

export interface Speed {
  gpus?: number;
  servers?: number;
  gpu_type?: string;
  parameter_servers?: number;
  steps_per_s?: number;
  gpu_utilization_pct?: number | null;
  gpu_memory_bytes?: number | null;
}

export interface Shared {
  with?: string;
  gpu_type?: string;
  steps_per_s?: number;
}

export interface Curve {
  b0?: number;
  b1?: number;
  b2?: number;
}

export interface Parameter {
  name: string;
  type: string;
  unit: string;
  default: string;
  min: number | null;
  max: number | null;
  choices: string[];
  help: string;
}

export interface Loss {
  by_epoch?: number[];
  curve?: Curve | null;
  noise?: number;
}

export interface SimulationPolicy {
  name: string;
  parameters: { [key: string]: string[] };
}

export interface LeftOutReason {
  oversize: number;
  without_gpus: number;
  impossible: { [key: string]: number };
}

export interface SimulationProgress {
  part: number;
  runs_done: number;
  runs: number;
}

export interface SimulationFailure {
  code: string;
  detail: string;
  notes: string[];
  hints: string[];
}

export interface Duration {
  percent: number;
  duration_s: number;
}

export interface TraceGpu {
  gpus: number;
  jobs: number;
  gpu_s: number;
}

export interface Figure {
  jobs: number;
  users: number;
  first_submit_s: number;
  last_submit_s: number;
  span_s: number;
  gap_mean_s: number;
  gpu_days: number;
  duration_mean_s: number;
  durations: Duration[];
  gpus: TraceGpu[];
  with_deadline: number;
  with_estimate: number;
  elastic: number;
  sharing: number;
  with_profile: number;
}

export interface Announcement {
  id: string;
  text: string;
  by: string;
  made_at: string;
  until: string | null;
}

export interface AnnouncementWanted {
  text?: string;
  until?: string | null;
}

export interface Attempt {
  attempt: number;
  server: string;
  rank: number;
  gpus: string[];
  gpu_uuids: string[];
  began_at: string | null;
  ended_at: string | null;
}

export interface Cancellation {
  reason?: string;
  now?: boolean;
  signal?: string;
}

export interface ChangedJob extends Job {
  effect: Effect | null;
}

export interface Channel {
  name: string;
  owner: string;
  kind: string;
  url: string | null;
  secret: string | null;
  login: string | null;
  from: string | null;
  to: string | null;
  on: string[];
  shared: boolean;
  since: string;
}

export interface ChannelTest {
  to?: string | null;
}

export interface CheckedJob {
  spec: {
    name?: string;
    user?: string;
    command?: string | string[];
    image?: string | null;
    framework?: string | null;
    launch?: string;
    gpus?: ChangedJobGpu;
    servers?: number;
    resources?: Resource;
    workdir?: string;
    env?: { [key: string]: string };
    labels?: { [key: string]: string };
    priority?: number;
    weight?: number;
    hold?: boolean;
    time_limit_s?: number | null;
    estimate_s?: number | null;
    deadline_s?: number | null;
    checkpoint?: Checkpoint;
    retry?: Retry;
    preemptible?: boolean;
    migratable?: boolean;
    freeze?: boolean;
    resize?: string;
    on_partition?: string;
    output_limit_bytes?: number | null;
    training?: Training;
    after?: number[];
    after_any?: number[];
    not_before?: string | null;
    array?: string | null;
    matrix?: { [key: string]: string[] };
    max_running?: number;
    roles?: Role[];
    mounts?: string[];
    secrets?: string[];
    notify?: Notify[];
    ports?: { [key: string]: Port };
    snapshot?: Snapshot | null;
    setup?: string[];
    progress?: Progress | null;
    pty?: boolean;
  };
  estimate: Estimate | null;
}

export interface ChosenPolicy extends Policy {
  changed: boolean;
}

export interface Cluster {
  version: string;
  cluster_id: string;
  started_at: string;
  now: string;
  policy: string;
  acting: string | null;
  shadow: string | null;
  planned: Planned | null;
  jobs: { [key: string]: number };
  gpus: {
    total: number;
    allocated: number;
    free: number;
  };
  next_free: {
    at: Start | null;
    gpus: string[];
    job_id: number | null;
    text: string | null;
  };
  decisions: {
    count: number;
    p50_ms: number;
    p99_ms: number;
    max_ms: number;
  };
  servers_up: number;
  since_start: {
    preemptions: number;
    migrations: number;
    resizes: number;
    deadlines_met: number;
    deadlines_missed: number;
  };
  url: string;
  history: {
    bytes: number | null;
    keep: Keep;
  };
  servers: Server[];
}

export interface Costs {
  schedulearn_costs: number;
  families: {
    family: string;
    stops: number;
    stop_s: number;
    starts: number;
    start_s: number;
    repeated_s: number;
    freezes: number;
    freeze_s: number;
    thaws: number;
    thaw_s: number;
  }[];
}

export interface CreatedOriginalJob extends OriginalJob {
  message: string;
}

export interface Delivery {
  id: string;
  channel: string;
  owner: string;
  receiver: string | null;
  event: string;
  job_id: number | null;
  state: string;
  tries: number;
  status: number | null;
  why: string | null;
  made_at: string;
  tried_at: string | null;
  next_at: string | null;
}

export interface DrainPreview {
  name: string;
  jobs: {
    id: number;
    name: string;
    user: string;
    then: string;
  }[];
}

export interface EarlierPolicy {
  name: string;
  parameters: { [key: string]: unknown };
  since: string;
  by: string;
  reason: string | null;
}

export interface EditPreview {
  id: number;
  name: string;
  changes: {
    id: number;
    name: string;
    user: string;
    change: string;
  }[];
  line: {
    policy: string;
    position_before: number | null;
    position: number | null;
    order: number[];
  } | null;
}

export interface Event {
  seq: number;
  at: string;
  kind: string;
  job_id: number | null;
  server: string | null;
  actor: {
    type: string;
    name: string;
  };
  from: string | null;
  to: string | null;
  text: string;
  data: unknown;
}

export interface Explanation {
  verdict: string;
  summary: string;
  reasons: {
    code: string;
    text: string;
    blocking: boolean;
  }[];
  position: number | null;
  queue_length: number | null;
  needs_gpus: boolean;
  ahead: Ahead | null;
  standing: string | null;
  reservations: {
    job_id: number;
    at: string;
    on: {
      server: string;
      gpus: number;
    }[];
  }[];
  servers: {
    server: string;
    free: number;
    needed: number;
    room: {
      cpus_free: number | null;
      cpus_needed: number;
      memory_free_bytes: number | null;
      memory_needed_bytes: number;
    } | null;
    fits: boolean;
    frees: {
      job_id: number;
      gpus: number;
      at: string | null;
    }[];
    text: string;
  }[];
  estimate: Estimate | null;
  suggestions: {
    what: string;
    text: string;
    patch: { [key: string]: unknown } | null;
    command: string | null;
    server: string | null;
    predicted_start: Start | null;
    predicted_finish: Start | null;
    start_as_it_is: Start | null;
    finish_as_it_is: Start | null;
  }[];
  suggestions_note: string | null;
  followed: string | null;
  policy: string;
  evaluated_at: string;
}

export interface Finding {
  verdict: string;
  subject: string;
  text: string;
  remedy: string | null;
  server: string | null;
}

export interface Gpu {
  identifier: string;
  server: string;
  index: number;
  uuid: string | null;
  name: string | null;
  simulated: boolean;
  condition: string;
  isolation: string | null;
  job_id: number | null;
  job_ids: number[];
  user: string | null;
  utilization_pct: number | null;
  memory_used_bytes: number | null;
  memory_total_bytes: number | null;
  temperature_celsius: number | null;
  power_watts: number | null;
  sm_clock_mhz: number | null;
  processes: Process[];
  sampled_at: string | null;
}

export interface Health {
  status: string;
  version: string;
}

export interface Job {
  id: number;
  name: string;
  user: string;
  state: string;
  state_since: string;
  reason: Reason | null;
  group_id: number | null;
  index: number | null;
  members: Member | null;
  labels: { [key: string]: string };
  priority: number;
  spec: Spec;
  snapshot: unknown;
  placement: Placement[];
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
  deadline_at: string | null;
  wait_s: number;
  run_s: number;
  gpu_seconds: number;
  attempt: number;
  migrations: number;
  preemptions: number;
  resizes: number;
  progress: ChangedJobProgress | null;
  estimate: Estimate | null;
  exit: Exit | null;
  failure: Failure | null;
  checkpoint_copy: CheckpointCopy | null;
}

export interface JobBatch {
  jobs: JobFile[];
}

export interface JobChange {
  priority?: number | null;
  gpus?: unknown;
  time_limit_s?: number | string | null;
  time?: {
    limit?: number | string | null;
  } | null;
  name?: string | null;
  hold?: boolean | null;
  first?: boolean;
  before?: number | null;
  notify?: Notify[];
  max_running?: number | null;
  servers?: number | null;
  labels?: unknown;
}

export interface JobDetails extends Job {
  attempts: Attempt[];
  telemetry: {
    unit?: string;
    per_s?: number | null;
    measured_s?: number | null;
    speeds?: {
      gpus?: number;
      servers?: number;
      gpu_type?: string;
      batch_size?: number;
      shared_with?: number;
      per_s?: number;
    }[];
    loss_by_epoch?: number[];
    accuracy?: number | null;
    gpu_utilization_pct?: number | null;
    gpu_memory_used_bytes?: number | null;
    start_up_s?: number | null;
    checkpoint_bytes?: number | null;
    checkpoint_s?: number | null;
    steps_per_epoch?: number | null;
    stop_s?: number | null;
    repeated_count?: number | null;
    repeated_s?: number | null;
  } | null;
}

export interface JobFile {
  name?: string;
  user?: string;
  command?: string | string[];
  image?: string | null;
  mounts?: string[];
  secrets?: string[];
  notify?: Notify[];
  framework?: string | null;
  launch?: string;
  pty?: boolean;
  servers?: number;
  workdir?: string;
  env?: { [key: string]: string };
  labels?: { [key: string]: string };
  priority?: number;
  weight?: unknown;
  gpus?: unknown;
  roles?: unknown;
  ports?: unknown;
  snapshot?: unknown;
  resources?: {
    cpus?: number | null;
    memory?: number | string | null;
    memory_bytes?: number | string | null;
    gpu_memory?: number | string | null;
    gpu_memory_bytes?: number | string | null;
    shm?: number | string | null;
    shm_bytes?: number | string | null;
    processes?: number | null;
    pin_cpus?: boolean;
    share?: boolean;
    gpu_type?: unknown;
    on?: unknown;
    not_on?: unknown;
  } | null;
  training?: {
    family?: string | null;
    epochs?: number | string | null;
    steps?: number | string | null;
    batch_size?: number | string | null;
    target_loss?: number | string | null;
    budget?: number | string | null;
    mode?: string | null;
    model_bytes?: number | string | null;
    largest_tensor_bytes?: number | string | null;
    checkpoint_bytes?: number | string | null;
    restart_s?: number | string | null;
  } | null;
  array?: unknown;
  matrix?: unknown;
  max_running?: number;
  not_before?: unknown;
  after?: unknown;
  after_any?: unknown;
  time_limit_s?: number | string | null;
  estimate_s?: number | string | null;
  deadline_s?: number | string | null;
  time?: {
    limit?: number | string | null;
    estimate?: number | string | null;
    deadline?: number | string | null;
    not_before?: unknown;
  } | null;
  hold?: boolean;
  preemptible?: boolean;
  preempt?: boolean;
  freeze?: boolean;
  resize?: string;
  migratable?: boolean;
  migrate?: boolean;
  on_partition?: string;
  output_limit?: number | string | null;
  output_limit_bytes?: number | string | null;
  checkpoint?: {
    dir?: string | null;
    signal?: string;
    grace?: number | string | null;
    grace_s?: number | string | null;
    every?: number | string | null;
    every_s?: number | string | null;
  } | null;
  retry?: {
    max?: number;
    on?: string[];
    backoff?: number | string | null;
    backoff_s?: number | string | null;
  } | null;
  progress?: Progress | null;
  setup?: unknown;
  type?: string | null;
  container_image?: string | null;
  required_gpus?: unknown;
}

export interface JobInList {
  id?: number;
  name?: string;
  user?: string;
  state?: string;
  state_since?: string;
  reason?: {
    code?: string;
    text?: string;
  } | null;
  group_id?: number | null;
  index?: number | null;
  members?: {
    total?: number;
    waiting?: number;
    running?: number;
    succeeded?: number;
    failed?: number;
    cancelled?: number;
    to_come?: string;
  } | null;
  labels?: { [key: string]: string };
  priority?: number;
  spec?: Spec;
  snapshot?: unknown;
  placement?: {
    server?: string;
    gpus?: string[];
    rank?: number;
    pid?: number | null;
    image?: string | null;
    container_id?: string | null;
  }[];
  created_at?: string;
  started_at?: string | null;
  finished_at?: string | null;
  deadline_at?: string | null;
  wait_s?: number;
  run_s?: number;
  gpu_seconds?: number;
  attempt?: number;
  migrations?: number;
  preemptions?: number;
  resizes?: number;
  progress?: {
    done?: number | null;
    total?: number | null;
    unit?: string;
    epoch?: number | null;
    epochs?: number | null;
    step?: number | null;
    steps?: number | null;
    loss?: number | null;
    accuracy?: number | null;
    loss_is_not_finite?: boolean;
    rate_per_s?: number | null;
    updated_at?: string | null;
  } | null;
  estimate?: {
    start?: JobInListStart | null;
    finish?: JobInListStart | null;
    basis?: string[];
    basis_text?: string | null;
    confidence?: string;
    server?: string | null;
    text?: string | null;
    evaluated_at?: string;
    draws?: number;
  } | null;
  exit?: {
    code?: number | null;
    signal?: number | null;
  } | null;
  failure?: {
    kind?: string;
    message?: string;
    exit_code?: number | null;
    signal?: number | null;
    label?: string | null;
    log_line?: number | null;
    last_lines?: string[] | null;
  } | null;
  checkpoint_copy?: {
    from?: string;
    bytes_done?: number;
    bytes?: number;
    through_controller?: boolean;
  } | null;
}

export interface KeptSnapshots {
  limit_bytes: number;
  count: number;
  bytes: number;
  keep_s: number;
}

export interface LeftFiles {
  path: string;
  kind: string;
  items: {
    name: string;
    path: string;
    kind: string;
    bytes: number | null;
    changed_at: string;
  }[] | null;
  total: number | null;
  bytes: number | null;
}

export interface Link {
  code: string;
  fragment: string;
  expires_at: string;
}

export interface Me {
  user: string;
  role: string;
  token: string | null;
}

export interface Message {
  message: string;
}

export interface Migration {
  to?: string | null;
}

export interface NewChannel {
  kind?: string;
  url?: string | null;
  secret?: string | null;
  login?: string | null;
  from?: string | null;
  to?: string | null;
  on?: string[];
  shared?: boolean;
}

export interface NewProfile {
  schedulearn_profile?: number;
  family?: string;
  origin?: string;
  epochs?: number | null;
  steps_per_epoch?: number | null;
  batch_size?: number | null;
  model_bytes?: number | null;
  largest_tensor_bytes?: number | null;
  checkpoint_bytes?: number | null;
  checkpoint_s?: number | null;
  restart_s?: number | null;
  speeds?: Speed[];
  shared?: Shared[];
  loss?: {
    by_epoch?: number[];
    curve?: Curve | null;
    noise?: number;
  } | null;
}

export interface NewServer {
  name: string;
  url: string;
  command: string;
  token: string;
  token_id: string;
  expires_at: string | null;
}

export interface NewSimulation {
  trace?: {
    workload?: string | null;
    parameters?: { [key: string]: unknown } | null;
    name?: string | null;
    csv?: string | null;
    history_days?: number | null;
  };
  servers?: string | null;
  policies?: {
    name?: string;
    parameters?: { [key: string]: unknown } | null;
  }[];
  seeds?: number | null;
  jobs?: number | null;
  job_counts?: number[] | null;
  loads?: number[] | null;
  keep_cpu_jobs?: boolean | null;
}

export interface NewToken extends Token {
  token: string;
}

export interface NewUser {
  name?: string;
  role?: string | null;
}

export interface OpenApi { [key: string]: unknown }

export interface OpenedPort {
  path: string;
  expires_at: string;
}

export interface Operation {
  method: string;
  path: string;
  summary: string;
  role: string;
  parameters: string[];
}

export interface OriginalJob {
  id: number;
  name: string;
  type: string | null;
  container_name: string | null;
  container_image: string | null;
  command: string | string[] | null;
  created_at: string;
  started_at: string | null;
  completed_at: string | null;
  estimated_completion_time: string | null;
  required_gpus: number;
  no_of_migrations: number;
  trained_at: string | null;
  status: string;
  at_gpus: number[];
  error: string | null;
}

export type OriginalJobs = OriginalJob[];

export interface OriginalUser {
  username: string;
  email: string;
  token: string;
}

export interface PlannedPolicyChoice {
  name?: string;
  parameters?: { [key: string]: unknown } | null;
  source?: string | null;
  at?: string;
}

export interface PoliciesToTry {
  policies?: PolicyChoice[];
  with_arrivals?: boolean | null;
  with_schedule?: boolean | null;
  horizon_s?: number | null;
}

export interface Policy {
  name: string;
  parameters: { [key: string]: unknown };
  since: string;
  by: string;
  acting: string | null;
  shadow: string | null;
  previous: string | null;
  undo_until: string | null;
  planned: Planned | null;
  source: string | null;
  failure: ChosenPolicyFailure | null;
  notes: string[];
}

export interface PolicyChoice {
  name?: string;
  parameters?: { [key: string]: unknown } | null;
  source?: string | null;
}

export interface PolicyDescription {
  name: string;
  title: string;
  summary: string;
  good_for: string;
  weak_for: string;
  placement: string;
  needs: string[];
  aliases: string[];
  preemptive: boolean;
  elastic: boolean;
  work_conserving: boolean;
  parameters: Parameter[];
  notes: string[];
}

export interface Preview {
  id: number;
  name: string;
  effect: Effect;
}

export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  instance: string;
  code: string;
  request_id: string | null;
  notes: string[];
  hints: {
    text: string;
    patch: unknown;
  }[];
  errors: {
    pointer: string;
    detail: string;
  }[];
}

export interface Profile {
  schedulearn_profile?: number;
  family?: string;
  origin?: string;
  epochs?: number | null;
  steps_per_epoch?: number | null;
  batch_size?: number | null;
  model_bytes?: number | null;
  largest_tensor_bytes?: number | null;
  checkpoint_bytes?: number | null;
  checkpoint_s?: number | null;
  restart_s?: number | null;
  speeds?: Speed[];
  shared?: Shared[];
  loss?: Loss | null;
}

export type QueuedJob = {
  id: number;
  name: string;
  user: string;
  state: string;
  state_since: string;
  reason: Reason | null;
  group_id: number | null;
  index: number | null;
  members: Member | null;
  labels: { [key: string]: string };
  priority: number;
  spec: Spec;
  snapshot: unknown;
  placement: Placement[];
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
  deadline_at: string | null;
  wait_s: number;
  run_s: number;
  gpu_seconds: number;
  attempt: number;
  migrations: number;
  preemptions: number;
  resizes: number;
  progress: ChangedJobProgress | null;
  estimate: Estimate | null;
  exit: Exit | null;
  failure: Failure | null;
  checkpoint_copy: CheckpointCopy | null;
  position: number | null;
  in_line: number;
  ahead: Ahead | null;
} | null;

export interface Record {
  items: {
    policy: string;
    target: string;
    horizon: string;
    ranges: number;
    held: number;
    held_pct: number;
    early: number;
    late: number;
    width_s: number;
  }[];
  next_cursor: string | null;
  total: number;
  open: number;
  corrections: {
    of: string;
    low: number;
    high: number;
    ranges: number;
  }[];
  evaluated_at: string;
  draws: number;
  took_s: number;
}

export interface RemovedAnnouncement {
  id: string;
  removed: boolean;
}

export interface RemovedChannel {
  name: string;
  removed: boolean;
}

export interface RemovedJob {
  id: number;
  removed: number;
}

export interface RemovedProfile {
  family: string;
}

export type RemovedSecret = RemovedChannel;

export interface RemovedServer {
  name: string;
  state: string;
}

export interface RemovedSimulation {
  id: number;
}

export type RemovedToken = RemovedAnnouncement;

export interface RemovedTrace {
  name: string;
}

export type RemovedUser = RemovedChannel;

export interface Resumption { [key: string]: never }

export interface Scale {
  gpus?: unknown;
}

export interface Secret {
  name: string;
  changed_at: string;
}

export interface Series {
  from: string;
  to: string;
  step_s: number;
  series: {
    name: string;
    labels: { [key: string]: string };
    values: (number | null)[];
  }[];
}

export interface Server {
  name: string;
  state: string;
  state_reason: string | null;
  quarantine: Quarantine | null;
  simulated: boolean;
  cpus: number | null;
  memory_total_bytes: number | null;
  memory_used_bytes: number | null;
  job_files_bytes: number | null;
  disk_free_bytes: number | null;
  cpu_utilization_pct: number | null;
  agent_version: string | null;
  driver_version: string | null;
  runtimes: string[];
  container_engine: string | null;
  enforces: string[];
  cannot_enforce: string | null;
  clock_skew_s: number | null;
  last_contact_at: string | null;
  labels: { [key: string]: string };
  keep: Keep | null;
  gpus: Gpu[];
}

export interface ServerChange {
  drained?: boolean | null;
  reason?: string | null;
  deadline?: string | null;
  migrate?: boolean | null;
}

export interface ServerWanted {
  name?: string;
  url?: string | null;
  expires_in_s?: number | null;
}

export interface Session {
  user: string;
  role: string;
  token: string | null;
  key: string;
  expires_at: string;
}

export interface ShadowPolicy {
  name: string | null;
  parameters: { [key: string]: unknown };
  since: string | null;
  by: string | null;
  latest: {
    at: string;
    since: string;
    in_force: string;
    shadow: string;
    jobs: number;
    draws: number;
    in_force_s: number;
    shadow_s: number;
    mean_s: number;
    p10_s: number;
    p90_s: number;
  } | null;
  total_s: number;
  windows: number;
}

export interface SignIn {
  email?: string;
  password?: string;
}

export interface Signal {
  signal?: string;
}

export interface SignedOut {
  signed_out: boolean;
}

export interface SimulatedJob {
  job_id: string;
  user: string;
  gpus: number;
  submit_s: number;
  start_s: number | null;
  finish_s: number | null;
  jct_s: number | null;
  wait_s: number | null;
  run_s: number | null;
  preemptions: number;
  resizes: number;
  migrations: number;
  failures: number;
}

export interface Simulation {
  id: number;
  user: string;
  state: string;
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
  trace: string;
  servers: string;
  policies: SimulationPolicy[];
  seeds: number;
  job_counts: number[];
  loads: number[];
  keep_cpu_jobs: boolean;
  jobs: number;
  left_out: number;
  left_out_reasons: LeftOutReason | null;
  gpus: number;
  load: number;
  command: string;
  progress: SimulationProgress;
  failure: SimulationFailure | null;
}

export interface SimulationChart {
  kind: string;
  title: string;
  summary: string;
  caption: string;
  svg: string;
  csv: string;
}

export interface SimulationDetails extends Simulation {
  results: SimulationResult[];
}

export interface SimulationResult {
  policy: string;
  parameters: { [key: string]: string };
  seed: number;
  load: number | null;
  jobs: number;
  unfinished: number;
  failed: number;
  avg_wait_s: number | null;
  p95_wait_s: number | null;
  avg_jct_s: number | null;
  p50_jct_s: number | null;
  p95_jct_s: number | null;
  p99_jct_s: number | null;
  avg_slowdown: number | null;
  makespan_s: number | null;
  gpu_allocation_pct: number | null;
  gpu_utilization_pct: number | null;
  jain_fairness: number | null;
  avg_jct_bound_s: number | null;
  makespan_bound_s: number | null;
  preemptions: number;
  resizes: number;
  migrations: number;
  standstill: string | null;
  first_unfinished: string | null;
}

export interface StoredProfile extends Profile {
  since?: string;
  user?: string | null;
}

export interface StoredSnapshot {
  id: string;
  bytes: number;
  bytes_here: number;
}

export interface Suspension { [key: string]: never }

export interface Token {
  id: string;
  name: string;
  user: string;
  role: string;
  made_at: string;
  expires_at: string | null;
  used_at: string | null;
  by: string;
  expired: boolean;
}

export interface TokenWanted {
  name?: string;
  user?: string | null;
  role?: string | null;
  expires_in_s?: number | null;
}

export interface Trace {
  name: string;
  title: string;
  summary: string;
  parameters: Parameter[];
  user: string | null;
  uploaded_at: string | null;
  bytes: number | null;
  figures: Figure | null;
}

export interface TraceUpload {
  name: string;
  bytes: number;
  bytes_here: number;
  trace: Trace | null;
}

export interface TriedPolicies {
  policies: {
    name: string;
    in_force: boolean;
    avg_wait_s: number | null;
    avg_jct_s: number | null;
    p95_jct_s: number | null;
    makespan_s: number | null;
    gpu_allocation_pct: number | null;
    preemptions: number | null;
    migrations: number | null;
    jobs: number;
    draws: number;
    unfinished: number;
    schedule: {
      job_id: number;
      server: string;
      gpus: number[];
      from: string;
      to: string | null;
    }[] | null;
    failure: string | null;
  }[];
  jobs: {
    job_id: number;
    name: string;
    expected: {
      policy: string;
      start: string | null;
      finish: string | null;
    }[];
  }[];
  jobs_total: number;
  left_out: number[];
  arrivals: number;
  evaluated_at: string;
  took_s: number;
}

export interface Usage {
  id: number;
  gpu_seconds: number;
  state_s: { [key: string]: number };
  attempts: number;
  preemptions: number;
  migrations: number;
  resizes: number;
  interrupted_s: number;
  start_up_s: number | null;
  stop_s: number | null;
  repeated_s: number | null;
  energy_joules: number | null;
  energy_measured_pct: number | null;
  gpu_memory_peak_bytes: number | null;
  gpu_memory_asked_bytes: number | null;
  members: number | null;
}

export interface User {
  name: string;
  role: string;
  since: string;
  by: string;
  tokens: number;
}

export interface UserRole {
  role?: string;
}

export interface Workload {
  name: string;
  title: string;
  summary: string;
  parameters: Parameter[];
}

// What the document says of keys of a job file.
export const jobFileKeys: { [path: string]: string } = {
  "training.family": "trainings of one family run alike and use its profile (default: the name)",
  "training.epochs": "number of passes over the data (epochs)",
  "training.steps": "number of steps of the whole training (steps)",
  "training.batch_size": "samples in one step, over all GPUs (samples)",
  "training.target_loss": "the training is done once the loss of an epoch is as low as this (loss)",
  "training.budget": "what the training may cost, in the units of policy coach (cost)",
  "training.mode": "all_reduce, parameter_server_sync or parameter_server_async",
  "training.model_bytes": "size of the parameters (bytes)",
  "training.largest_tensor_bytes": "size of the largest tensor; with model_bytes: the skew (bytes)",
  "training.checkpoint_bytes": "size of a checkpoint (bytes)",
  "training.restart_s": "time to stop and continue elsewhere (seconds)"
};
