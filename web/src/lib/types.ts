// The documents of the API by the names that the page uses. Their keys come from the OpenAPI document (api.ts, made by
// tools/types.mjs); stated here is what that document does not say: which words a text can be, and that a controller
// writes all keys of a job's specification.
import type * as api from './api';

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

type Complete<T> = T extends (infer Item)[]
  ? Complete<Item>[]
  : T extends object
    ? { [Key in keyof T]-?: Complete<Exclude<T[Key], undefined>> }
    : T;

export type JobSpec = Complete<api.Job['spec']>;
export type GpuRange = JobSpec['gpus'];
export type Job = Omit<api.Job, 'state' | 'spec'> & { state: JobState; spec: JobSpec } & Partial<
    Pick<api.JobDetails, 'attempts' | 'telemetry'>
  >;
export type QueuedJob = Job & Pick<NonNullable<api.QueuedJob>, 'position' | 'in_line' | 'ahead'>;
export type Usage = api.Usage;
export type Telemetry = NonNullable<api.JobDetails['telemetry']>;
export type Estimate = NonNullable<api.Job['estimate']>;
export type TimeRange = NonNullable<Estimate['start']>;
export type Explanation = api.Explanation;
export type Suggestion = Explanation['suggestions'][number];
export type ClusterEvent = api.Event;
export type Effect = api.Preview;
export type EditPreview = api.EditPreview;
export type JobChange = api.JobChange;

export type Gpu = Omit<api.Gpu, 'condition'> & {
  condition: 'free' | 'allocated' | 'outside' | 'unavailable' | 'quarantined';
};
export type Server = Omit<api.Server, 'gpus'> & { gpus: Gpu[] };
export type Cluster = Omit<api.Cluster, 'jobs' | 'servers'> & { jobs: Record<JobState, number>; servers: Server[] };

export type Policy = api.Policy;
export type PolicyInfo = api.PolicyDescription;
export type PolicyParameter = PolicyInfo['parameters'][number];
export type PolicyChange = api.EarlierPolicy;
export type Tried = api.TriedPolicies & { jobs_total?: number }; // how many jobs the user has here; of the first of them `jobs` tells
export type TriedPolicy = Tried['policies'][number];
export type Hold = NonNullable<TriedPolicy['schedule']>[number];
export type PlannedPolicy = NonNullable<Policy['planned']>;
export type Finding = Omit<api.Finding, 'verdict'> & { verdict: 'ok' | 'note' | 'wrong' };
export type ShadowPolicy = api.ShadowPolicy;
export type Series = api.Series;

export type Self = api.Me;
// Status 0: there was no answer.
export type Problem = Pick<api.Problem, 'status' | 'code' | 'detail' | 'notes' | 'errors'> & {
  hints: { text: string }[];
  request_id?: string | null;
};

export type LeftFiles = Omit<api.LeftFiles, 'kind' | 'items'> & { kind: 'file' | 'folder'; items: LeftFile[] | null };
export type LeftFile = Omit<NonNullable<api.LeftFiles['items']>[number], 'kind'> & {
  kind: 'file' | 'folder' | 'link' | 'other';
};

export type Simulation = api.Simulation;
export type SimulationDetails = api.SimulationDetails;
export type SimulationResult = SimulationDetails['results'][number];
export type SimulationChart = api.SimulationChart;
export type NewSimulation = api.NewSimulation;
export type Workload = api.Workload;
export type Trace = api.Trace;
export type TraceUpload = api.TraceUpload;
export type OpenedPort = api.OpenedPort;
export type Secret = api.Secret;
export type Token = api.Token;
export type NewToken = api.NewToken;
export type NewServer = api.NewServer;
export type User = api.User;
export type Announcement = api.Announcement;
export type Channel = api.Channel;
export type Delivery = api.Delivery;
