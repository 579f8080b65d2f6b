// Which notices concern what is shown.
import { isNotable } from './events';
import type { Notice } from './live.svelte';

const isKind = (notice: Notice, ...kinds: string[]): boolean =>
  notice.type === 'event' && kinds.some((kind) => notice.event.kind.startsWith(kind));

export const ofJobs = (notice: Notice): boolean => isKind(notice, 'job.', 'policy.');
export const ofJobsAndTime = (notice: Notice): boolean => notice.type === 'sample' || ofJobs(notice);
export const ofJob =
  (id: number) =>
  (notice: Notice): boolean =>
    notice.type === 'sample' || (notice.type === 'event' && notice.event.job_id === id);
export const ofCluster = (notice: Notice): boolean =>
  notice.type === 'sample' || isKind(notice, 'job.', 'server.', 'gpu.', 'policy.');
export const ofPolicy = (notice: Notice): boolean => isKind(notice, 'policy.');
export const ofEvents = (notice: Notice): boolean => notice.type === 'event';
export const ofNotableEvents = (notice: Notice): boolean => notice.type === 'event' && isNotable(notice.event);
export const ofSimulations =
  (id?: number) =>
  (notice: Notice): boolean =>
    notice.type === 'simulation' && (id === undefined || notice.id === id);
