// What cannot be done to a job because of what it says of itself (src/controller/interventions.cpp). Whatever else may
// stand against it the controller says when it is asked.
import type { Job } from './types';

type Subject = Pick<Job, 'state' | 'members'> & { spec: Pick<Job['spec'], 'checkpoint' | 'freeze' | 'preemptible' | 'migratable'> };

// Why it can be neither frozen nor stopped at a checkpoint; '': it can, or no process of it runs.
function suspendFault({ state, members, spec }: Subject): string {
  const runs = ['running', 'migrating', 'resizing'].includes(state) && !members;
  return runs && spec.checkpoint.dir === null && !spec.freeze ? 'it names no checkpoint folder and does not say that it may be frozen' : '';
}

function migrateFault({ spec }: Subject): string {
  if (spec.preemptible === false) return 'it says that it is never to be interrupted';
  if (spec.checkpoint.dir === null) return 'it names no checkpoint folder';
  return spec.migratable === false ? 'it says that it is never to be moved' : '';
}

export function whyNot(verb: string, job: Subject): string {
  return verb === 'suspend' ? suspendFault(job) : verb === 'migrate' ? migrateFault(job) : '';
}
