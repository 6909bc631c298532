import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';

const CRON = new URL('../../../core/handler/cron.ts', import.meta.url);
const ROOT = new URL('../../..', import.meta.url);
const FROM = Date.parse('2027-07-01T12:00:00Z');

/** The memory of the dispatcher and of the API in MB, and the limits that Lambda's runtime sets to their heap. */
const MEMORY = 256;
const HEAP = ['--max-semi-space-size=12', '--max-old-space-size=230', '--expose-gc'];

/**
 * Opens timetables in a new process and keeps them, as a round of the dispatcher does; returns its peak in MB. Garbage
 * is collected on the way: how much of it waits depends on the machine.
 */
function peak(timetables: string): number {
  const script = `
    const { openTimetable } = await import(${JSON.stringify(CRON.href)});
    const zones = Intl.supportedValuesOf('timeZone');
    const spelling = (zone, number) => zone.replace(/[a-z]/gi, (letter) =>
      (number >>= 1) & 1 ? letter.toUpperCase() : letter.toLowerCase());
    const open = Array.from({ length: 4000 }, (_, n) => ${timetables})
      .map(({ cron = '30 2 * * *', zone }) => openTimetable({ cron, zone }));
    for (const [n, timetable] of open.entries()) {
      timetable.next(${FROM});
      if (n % 100 === 0) gc();
    }
    console.log(Math.round(process.resourceUsage().maxRSS / 1024));`;
  return Number(
    execFileSync(process.execPath, [...HEAP, '--input-type=module', '-e', script], { encoding: 'utf8', cwd: ROOT }),
  );
}

it.each([
  ['spellings of an alias', `({ zone: spelling('America/Argentina/ComodRivadavia', 2 * n) })`],
  ['spellings of a zone', `({ zone: spelling('Europe/Berlin', 2 * n) })`],
  ['spellings of every zone', `({ zone: spelling(zones[n % zones.length], 2 * n) })`],
  ['expressions', `({ cron: [n % 60, Math.floor(n / 60) % 24, '* *', n % 7].join(' '), zone: 'UTC' })`],
  ['zones and expressions', `({ cron: n % 60 + ' * * * *', zone: zones[n % zones.length] })`],
])('4,000 timetables with different %s fit in the memory of a function', (_what, timetables) => {
  expect(peak(timetables)).toBeLessThan(MEMORY);
});
