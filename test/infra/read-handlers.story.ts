import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { readHandlers } from '../../infra/handlers.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** Creates a folder of handlers, each of which leaves a file named after the process that imports it. */
async function makeHandlers(count: number): Promise<{ handlers: string; processes: string }> {
  const folder = await temporaryFolder();
  const [handlers, processes] = [join(folder, 'jobs'), join(folder, 'processes')];
  await mkdir(handlers);
  await mkdir(processes);
  for (let n = 1; n <= count; n += 1) {
    const source = `import { writeFileSync } from 'node:fs';
      import { defineHandler } from ${JSON.stringify(resolve('core/handler/handler.ts'))};
      writeFileSync(\`${processes}/\${process.pid}\`, '');
      const payload = { '~standard': { version: 1, vendor: 'x', validate: (value) => ({ value }) } };
      export default defineHandler({ jobType: 'job_${n}', payload, run: async () => undefined });`;
    await writeFile(join(handlers, `job-${n}.ts`), source);
  }
  return { handlers, processes };
}

it('imports 60 handler files in three processes', async () => {
  const { handlers, processes } = await makeHandlers(60);

  const entries = readHandlers(handlers);

  expect(entries).toHaveLength(60);
  expect(new Set(entries.map(({ name }) => name)).size).toBe(60);
  expect(await readdir(processes)).toHaveLength(3);
});

it.each([
  ['ends the process', 'process.exit(0);', 'job-2.ts: ends the process (exit code 0) while it is imported'],
  ['does not compile', 'export default {', 'job-2.ts:1: Expected identifier but found end of file'],
  ['throws', "throw new Error('no key');", 'job-2.ts:1: Error: no key'],
])('names only the file that %s, and not those that are imported after it', async (_what, source, line) => {
  const { handlers } = await makeHandlers(4);
  await writeFile(join(handlers, 'job-2.ts'), source);

  const read = () => readHandlers(handlers);

  expect(read).toThrow(RegExp(`^\\S*${line.replace(/[().]/g, '\\$&')}$`));
});
