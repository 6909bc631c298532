import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { checkNames } from '../../../core/enqueue/enqueue-options.ts';
import { defineHandler } from '../../../core/handler/handler.ts';
import { otherWord, suggestName, suggestStatus } from '../../../core/handler/other-words.ts';
import { LIVE_STATUSES } from '../../../core/job.ts';
import { openApi } from '../../api/world.ts';
import { runCli } from '../../cli/run-cli.ts';

const COLUMNS = 'job_type payload run_at max_attempts unique_key group_key priority on_dead_letter'.split(' ');
const TIMES_OUT = 'the handler has the timeout, from which the lease of a claim follows: set timeout in defineHandler';

describe('a name of another job system', () => {
  it.each([
    ['max_retries', '; did you mean max_attempts, which counts the first attempt too?'],
    ['maxRetries', '; did you mean max_attempts, which counts the first attempt too?'],
    ['queue-name', '; did you mean job_type?'],
    ['args', '; did you mean payload?'],
    ['SCHEDULED_AT', '; did you mean run_at?'],
    ['singletonKey', '; did you mean unique_key?'],
    ['wait_until', '; did you mean run_at?'],
    ['queueing_lock', '; did you mean unique_key?'],
    ['deadLetter', '; did you mean on_dead_letter?'],
    ['expireInSeconds', `; ${TIMES_OUT}`],
    ['claim_timeout', `; ${TIMES_OUT}`],
    ['colour', ''],
  ])('is answered with our word: %s', (given, answer) => {
    expect(otherWord(given, COLUMNS)).toBe(answer);
  });

  it('is answered with a similar name if it is only misspelt', () => {
    expect(suggestName('prioity', COLUMNS)).toBe('; did you mean priority?');
    expect(suggestName('constructor', COLUMNS)).toBe('');
  });
});

describe('a status of another job system', () => {
  it.each([
    ['success', 'succeeded'],
    ['delivered', 'succeeded'],
    ['queued', 'pending'],
    ['in_progress', 'running'],
    ['retrying', 'failed'],
    ['dead', 'dead_letter'],
    ['FAILURE', 'dead_letter'],
    ['todo', 'pending'],
    ['doing', 'running'],
    ['canceled', 'cancelled'],
    ['suceeded', 'succeeded'],
  ])('is answered with ours: %s', (given, ours) => {
    expect(suggestStatus(given)).toBe(`; did you mean ${ours}?`);
  });

  it.each(['', 'x', 7, null, '__proto__', ...LIVE_STATUSES.map((one) => `${one} ${one}`)])(
    'may be no word: %j',
    (given) => {
      expect(suggestStatus(given)).toBe('');
    },
  );
});

describe('every door answers with our word', () => {
  it.each([
    ['retries', 'did you mean maxAttempts, which counts the first attempt too?'],
    ['claimTimeout', 'did you mean timeout, from which the lease of a claim follows?'],
    ['pollInterval', 'one dispatcher polls for all handlers: set MILLRACE_POLL_INTERVAL, or pollInterval of the stage'],
    ['pollingIntervalSeconds', 'set MILLRACE_POLL_INTERVAL, or pollInterval of the stage'],
    ['expireInSeconds', 'did you mean timeout?'],
    ['backoff', "did you mean retry, a policy such as retry.fixed('1m')?"],
    ['cron', 'did you mean schedules?'],
    ['handler', 'did you mean run?'],
  ])('defineHandler: %s', (name, answer) => {
    const options = { jobType: 'mail', payload: z.object({}), run: async () => undefined, [name]: 3 };

    expect(() => defineHandler(options)).toThrow(`unknown option ${name}; the options are`);
    expect(() => defineHandler(options)).toThrow(answer);
  });

  it('enqueue: maxRetries', () => {
    expect(() => checkNames({ maxRetries: 3 }, '')).toThrow(
      'did you mean maxAttempts, which counts the first attempt too?',
    );
  });

  it.each(['claimTimeout', 'timeout', 'expireInSeconds'])('enqueue: %s', (name) => {
    expect(() => checkNames({ [name]: 3 }, '')).toThrow(`${name}: unknown option; `);
    expect(() => checkNames({ [name]: 3 }, '')).toThrow(TIMES_OUT);
  });

  it('the API and the command line', async () => {
    const { ask } = await openApi();

    const job = await ask('/jobs', { method: 'POST', body: { job_type: 'mail', max_retries: 3 } });
    const bulk = await ask('/jobs/bulk', { method: 'POST', body: { jobs: [{ job_type: 'mail', data: {} }] } });
    const list = await ask('/admin/jobs?status=success');
    const timed = await ask('/jobs', { method: 'POST', body: { job_type: 'mail', claimTimeout: 3 } });
    const command = await runCli(['jobs', 'list', '--status', 'success']);

    const [unknown] = job.body.errors;
    expect(unknown).toMatchObject({
      pointer: '/max_retries',
      detail: expect.stringContaining('did you mean max_attempts'),
    });
    expect(timed.body.errors).toContainEqual({
      ...{ in: 'body', pointer: '/claimTimeout', detail: `is unknown; ${TIMES_OUT}` },
    });
    expect(JSON.stringify(bulk.body)).toContain('is unknown; did you mean payload?');
    expect(JSON.stringify(list.body)).toContain('cancelled; did you mean succeeded?');
    expect(command.stderr).toContain('did you mean succeeded?');
  });
});
