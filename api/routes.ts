import { documentationRoutes } from './documentation.ts';
import type { Route } from './route.ts';
import { actOnJobs } from './routes/actions.ts';
import { listJobs, processJobs, removeJob, retryRoute, showAnyJob } from './routes/admin-jobs.ts';
import { createKey, listKeys, revokeKey } from './routes/api-keys.ts';
import { listAudit } from './routes/audit.ts';
import { enqueueJobs } from './routes/bulk.ts';
import { getDeadLetter, getGroup, groupAllDeadLetters, listDeadLetters } from './routes/dead-letters.ts';
import { discardMany, discardOne } from './routes/discard.ts';
import { getHandlers, pause, resume } from './routes/handlers.ts';
import { healthz, readyz } from './routes/health.ts';
import { cancelJob, enqueueJob, getJob } from './routes/jobs.ts';
import { addSchedule } from './routes/new-schedule.ts';
import { getMetrics, getStats } from './routes/numbers.ts';
import {
  createOperation,
  getOperation,
  listOperations,
  pauseOperation,
  resumeOperation,
  stopOperation,
} from './routes/operations.ts';
import { createRedrive, getRedrive, listRedrives, stopRedrive } from './routes/redrives.ts';
import { getSchedule, listAllSchedules, pauseOne, removeSchedule, resumeOne, runNow } from './routes/schedules.ts';
import { getSeries } from './routes/series.ts';

/** Every operation, in the order of the documentation. */
const OPERATIONS: readonly Route[] = [
  ...[enqueueJob, enqueueJobs, getJob, cancelJob],
  ...[getStats, getSeries, listJobs, showAnyJob, retryRoute, processJobs, removeJob, actOnJobs],
  ...[listDeadLetters, groupAllDeadLetters, getGroup, getDeadLetter, discardMany, discardOne],
  ...[createRedrive, listRedrives, getRedrive, stopRedrive],
  ...[createOperation, listOperations, getOperation, pauseOperation, resumeOperation, stopOperation],
  ...[getHandlers, pause, resume],
  ...[addSchedule, listAllSchedules, getSchedule, runNow, pauseOne, resumeOne, removeSchedule],
  listAudit,
  ...[createKey, listKeys, revokeKey],
  ...[getMetrics, healthz, readyz],
];

export const ROUTES: readonly Route[] = [...OPERATIONS, ...documentationRoutes(OPERATIONS)];
