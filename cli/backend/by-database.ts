import { createApiKey, listApiKeys, revokeApiKey } from '../../core/access/api-keys.ts';
import { countDeadLetters, discardDeadLetters, discardStray } from '../../core/dead-letters/discard.ts';
import { findGroups } from '../../core/dead-letters/find-group.ts';
import { groupDeadLetters, showGroup } from '../../core/dead-letters/group-dead-letters.ts';
import { pinTimes } from '../../core/dead-letters/list-dead-letters.ts';
import { listDeadLetters } from '../../core/dead-letters/page-dead-letters.ts';
import { findMoved, previewRedrive, readNamedJobs } from '../../core/dead-letters/preview-redrive.ts';
import {
  cancelRedrive,
  listRedrives,
  readRedrive,
  startRedrive,
  stepRedrive,
} from '../../core/dead-letters/redrive-operation.ts';
import { exportDeadLetters, showDeadLetter } from '../../core/dead-letters/show-dead-letter.ts';
import { OPERATION_STEP } from '../../core/dispatch/work-off-operations.ts';
import { checkOptions, type NewJob } from '../../core/enqueue/enqueue-options.ts';
import { insertJob, insertJobs } from '../../core/enqueue/insert-jobs.ts';
import { isUnhandled } from '../../core/enqueue/refusals.ts';
import { messageOf } from '../../core/failure.ts';
import { cancel } from '../../core/jobs/cancel.ts';
import { deleteJob } from '../../core/jobs/delete.ts';
import { retryJob } from '../../core/jobs/redrive.ts';
import { listJobs } from '../../core/look/page-jobs.ts';
import { showJob } from '../../core/look/show-job.ts';
import { readHandlerNumbers } from '../../core/numbers/read-metrics.ts';
import { readSeries } from '../../core/numbers/series.ts';
import { readStats } from '../../core/numbers/stats.ts';
import { controlOperation, listOperations, readOperation, stepOperation } from '../../core/operations/operation.ts';
import { previewOperation, startOperation } from '../../core/operations/start-operation.ts';
import type { Database } from '../../core/postgres/database.ts';
import { listHandlers } from '../../core/registry/list-handlers.ts';
import { pauseHandler, resumeHandler } from '../../core/registry/pause-handler.ts';
import {
  createSchedule,
  deleteSchedule,
  pauseSchedule,
  resumeSchedule,
  runSchedule,
} from '../../core/schedules/change-schedule.ts';
import { listSchedules, showSchedule } from '../../core/schedules/list-schedules.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';
import { examineDatabase } from '../doctor/examine-database.ts';
import { isRefused } from './after-change.ts';
import { type Backend, MOST_REDRIVES } from './backend.ts';

/** Returns a backend that uses SQL. */
export function backendByDatabase(db: Database): Backend {
  return {
    readOverview: async () => ({
      stats: await readStats(db),
      handlers: await readHandlerNumbers(db),
      redrives: (await listRedrives(db, { status: 'running', limit: MOST_REDRIVES })).toReversed(),
    }),
    readSeries: async (wish) => {
      const read = await readSeries(db, wish);
      if ('fault' in read) throw new CommandFailure(EXIT.usage, read.fault);
      return read;
    },
    listJobs: (filter, limit) => listJobs(db, filter, limit),
    showJob: (id) => showJob(db, id),
    readNamedJobs: (ids) => readNamedJobs(db, ids),
    enqueue: (job) => insertJob({ query: (text, values) => db.query(text, values) }, job),
    enqueueAll: (job) => enqueueAll(db, job),
    isHandled: async (id) => {
      const shown = await showJob(db, id).catch((error: unknown) => {
        if (isRefused(error)) return undefined;
        throw error;
      });
      return shown?.handled;
    },
    retry: (id) => retryJob(db, id),
    cancel: (id) => cancel(db, id),
    deleteJob: (id) => deleteJob(db, id),
    listHandlers: (only) => listHandlers(db, only),
    pauseHandler: (address) => pauseHandler(db, address),
    resumeHandler: (address) => resumeHandler(db, address),
    ...deadLettersByDatabase(db),
    ...redrivesByDatabase(db),
    ...operationsByDatabase(db),
    ...schedulesByDatabase(db),
    createApiKey: (wanted) => createApiKey(db, wanted),
    listApiKeys: (wish) => listApiKeys(db, wish),
    revokeApiKey: (id, options) => revokeApiKey(db, id, options),
    examine: (expected) => examineDatabase(db, expected),
  };
}

async function enqueueAll(db: Database, job: NewJob) {
  checkOptions(job, '');
  try {
    return await insertJobs({ query: (text, values) => db.query(text, values) }, [job]);
  } catch (error) {
    const [sentence] = (isUnhandled(error) && /no handler of .*/.exec(messageOf(error))) || [];
    throw sentence === undefined ? error : new CommandFailure(EXIT.usage, sentence, { cause: error });
  }
}

function schedulesByDatabase(db: Database) {
  return {
    listSchedules: (wish) => listSchedules(db, wish),
    showSchedule: (name, ticks) => showSchedule(db, name, ticks),
    createSchedule: (spec) => createSchedule(db, spec),
    deleteSchedule: (name) => deleteSchedule(db, name),
    pauseSchedule: (name) => pauseSchedule(db, name),
    resumeSchedule: (name) => resumeSchedule(db, name),
    runSchedule: (name) => runSchedule(db, name),
  } satisfies Partial<Backend>;
}

function deadLettersByDatabase(db: Database) {
  return {
    pinTimes: (filter) => pinTimes(db, filter),
    listDeadLetters: (filter, limit) => listDeadLetters(db, filter, limit),
    showDeadLetter: (wanted) => showDeadLetter(db, wanted),
    exportDeadLetters: (filter) => exportDeadLetters(db, filter),
    groupDeadLetters: (filter, limit) => groupDeadLetters(db, filter, limit),
    showGroup: (fingerprint) => showGroup(db, fingerprint),
    findGroups: (beginning) => findGroups(db, beginning),
    countDeadLetters: (filter) => countDeadLetters(db, filter),
    discardDeadLetters: (filter, untilId) => discardDeadLetters(db, filter, untilId),
    discardStray: (id) => discardStray(db, id),
  } satisfies Partial<Backend>;
}

function redrivesByDatabase(db: Database) {
  return {
    listRedrives: (wish) => listRedrives(db, wish),
    readRedrive: (id) => readRedrive(db, id),
    previewRedrive: (filter) => previewRedrive(db, filter),
    startRedrive: (filter, options) => startRedrive(db, filter, options),
    stepRedrive: (id) => stepRedrive(db, id, OPERATION_STEP),
    cancelRedrive: (id) => cancelRedrive(db, id),
    findMoved: (id, ids) => findMoved(db, id, ids),
  } satisfies Partial<Backend>;
}

/** How long a command counts the jobs of a filter. */
const COUNT_MS = 30_000;

function operationsByDatabase(db: Database) {
  return {
    previewOperation: (plan) =>
      previewOperation(db, plan, COUNT_MS).catch((error: unknown) => {
        throw error instanceof RangeError ? new CommandFailure(EXIT.usage, error.message, { cause: error }) : error;
      }),
    startOperation: (start) => startOperation(db, start),
    stepOperation: (id) => stepOperation(db, id, OPERATION_STEP),
    listOperations: (wish) => listOperations(db, wish),
    readOperation: (id) => readOperation(db, id),
    controlOperation: (id, verb) => controlOperation(db, id, verb),
  } satisfies Partial<Backend>;
}
