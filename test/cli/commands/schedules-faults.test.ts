import { expect, it } from 'vitest';
import { deploy } from '../../support/runtime-engine.ts';
import { openBothWays } from '../backend/api-world.ts';

const { pool, db, byApi, byDatabase } = await openBothWays();
await deploy(db, { jobType: 'mail' });
for (let n = 11; n <= 33; n++) {
  await pool.query(`select millrace.create_schedule('s${n}', 'mail', cron => '0 3 * * *')`);
}
await pool.query(`update millrace.schedules set zone = 'Mars', fault = 'unknown zone Mars ' || name
  where name <> 's11'`);

it('the list of schedules explains every schedule without ticks, up to 20', async () => {
  const found = [await byDatabase(['schedules']), await byApi(['schedules'])];

  for (const { code, stderr } of found) {
    expect(code).toBe(0);
    expect(stderr).toContain('s12 has no ticks: unknown zone Mars s12\ns13 has no ticks: unknown zone Mars s13\n');
    expect(stderr.match(/has no ticks/g)).toHaveLength(20);
    expect(stderr).toContain('2 more have no ticks: see npx millrace schedules next <schedule>\n');
  }
});

it('schedules next explains a schedule whose zone is unknown', async () => {
  const found = [await byDatabase(['schedules', 'next', 's12']), await byApi(['schedules', 'next', 's12'])];

  for (const { code, stderr } of found) {
    expect(stderr).toContain('s12 has no ticks: unknown zone Mars s12');
    expect(stderr).not.toContain('Invalid time zone');
    expect(code).toBe(0);
  }
});
