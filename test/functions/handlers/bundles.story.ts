import { execFile } from 'node:child_process';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { expect, it, onTestFinished } from 'vitest';
import type { HandlerDefinition } from '../../../core/handler/handler.ts';
import { ownModule } from '../../../core/own-files.ts';
import { bundleOptions, handlerAlias, handlerEntry } from '../../../infra/bundle/options.ts';
import { startMailbox } from '../../../local/mailbox/mailbox.ts';
import { readMails } from '../../../local/mailbox/mails.ts';
import { startFileServer } from '../../../local/services/files.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { halves, look } from './thumbnails.ts';

const execute = promisify(execFile);
const handlers = new URL('../../../functions/handlers/', import.meta.url).pathname;
const packages = new URL('../../../node_modules/', import.meta.url).pathname;

/** Runs one attempt of a bundled handler in a folder that contains only its native packages. */
async function runBundled(file: string, payload: object, environment: Record<string, string>): Promise<unknown> {
  const folder = await temporaryFolder();
  const nativeModules = await nativeModulesOf(file);
  await mkdir(join(folder, 'node_modules'));
  for (const name of nativeModules) await symlink(join(packages, name), join(folder, 'node_modules', name));
  const entry = `import handler from ${JSON.stringify(join(handlers, file))};
    const context = { payload: ${JSON.stringify(payload)}, jobId: '1', signal: AbortSignal.timeout(15_000) };
    console.log(JSON.stringify(await handler.run(context)));`;
  const outfile = join(folder, 'bundle.mjs');
  await build({
    ...bundleOptions(nativeModules, join(handlers, file)),
    stdin: { contents: entry, resolveDir: handlers },
    outfile,
  });
  const { stdout, stderr } = await execute(process.execPath, [outfile], { cwd: folder, env: environment });
  expect(stderr).toBe('');
  return JSON.parse(stdout);
}

async function nativeModulesOf(file: string): Promise<readonly string[]> {
  const { default: handler } = (await import(join(handlers, file))) as { default: HandlerDefinition };
  return handler.nativeModules ?? [];
}

/** Returns the bytes of the deployed bundle by package; the key `''` stands for our own sources. */
async function bytesByPackage(file: string): Promise<Map<string, number>> {
  const { metafile } = await build({
    ...bundleOptions(await nativeModulesOf(file), join(handlers, file)),
    entryPoints: [ownModule(handlerEntry)],
    alias: { [handlerAlias]: join(handlers, file) },
    outfile: 'bundle.mjs',
    metafile: true,
    write: false,
  });
  const bytes = new Map<string, number>();
  for (const [path, { bytesInOutput }] of Object.entries(metafile.outputs['bundle.mjs']?.inputs ?? {})) {
    const name = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? '';
    bytes.set(name, (bytes.get(name) ?? 0) + bytesInOutput);
  }
  return bytes;
}

function sum(bytes: Map<string, number>, without: readonly string[]): number {
  return [...bytes].filter(([name]) => !without.includes(name)).reduce((total, [, size]) => total + size, 0);
}

it('the bundle of make_thumbnail runs with sharp beside it', async () => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'in.png'), await halves(64, 48).png().toBuffer());
  const server = await startFileServer({ port: 0, folder });
  onTestFinished(() => server.close());
  const payload = { source: `${server.url}/in.png`, target: `${server.url}/out.jpg`, width: 32 };

  const result = await runBundled('make-thumbnail.ts', payload, { THUMBNAIL_PRIVATE_HOSTS: '127.0.0.1' });

  const out = await readFile(join(folder, 'out.jpg'));
  expect(await look(out)).toMatchObject({ width: 32, height: 24 });
  expect(result).toEqual({ width: 32, height: 24, bytes: out.byteLength });
});

it('the bundle of send_reminder runs alone', async () => {
  const folder = await temporaryFolder();
  const mailbox = await startMailbox({ port: 0, folder });
  onTestFinished(() => mailbox.close());
  const payload = { to: 'ada@example.com', subject: 'Hello', text: 'A reminder' };

  const result = await runBundled('send-reminder.ts', payload, { SMTP_URL: mailbox.url });

  const [mail, ...others] = await readMails(folder);
  expect(mail).toMatchObject({ to: ['ada@example.com'], subject: 'Hello' });
  expect(others).toEqual([]);
  expect(result).toEqual({ messageId: mail?.messageId, response: expect.stringContaining('stored as') });
});

it.each([
  ['send-reminder.ts', ['nodemailer', 'zod']],
  ['make-thumbnail.ts', ['zod']],
])('the bundle of %s is below 700 kB without its own packages', async (file, own) => {
  const bytes = await bytesByPackage(file);

  expect([...bytes.keys()]).toEqual(expect.arrayContaining(own));
  expect(sum(bytes, own)).toBeLessThan(700_000);
});

it('a bundle omits the locales of zod, which `import { z }` would include with 380 kB', async () => {
  const bytes = await bytesByPackage('send-reminder.ts');

  expect(bytes.get('zod')).toBeLessThan(120_000);
});
