import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { loadCatalog } from '../../../core/catalog/catalog.ts';
import { defineHandler, type HandlerOptions } from '../../../core/handler/handler.ts';
import type { PayloadSchema } from '../../../core/handler/payload.ts';

const ANYTHING: PayloadSchema = { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) } };

/** Returns the failures of a folder whose files define these handlers. */
async function failuresOf(files: Record<string, Pick<HandlerOptions<PayloadSchema>, 'onDeadLetter'> | string>) {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-targets-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  for (const name of Object.keys(files)) await writeFile(join(folder, name), '');
  const catalog = await loadCatalog(folder, async (file) => {
    const name = file.slice(folder.length + 1);
    const options = files[name]!;
    if (typeof options === 'string') return { file, message: options };
    const [jobType = '', routingKey = ''] = name.replace('.ts', '').replaceAll('-', '_').split('.');
    const addressed = { jobType, ...(routingKey !== '' && { routingKey }), ...options };
    const definition = defineHandler({ payload: ANYTHING, run: async () => undefined, ...addressed });
    return { definition, file, name: name.replace('.ts', '').replaceAll('-', '_') };
  });
  return catalog.failures.map(({ file, message }) => `${file.slice(folder.length + 1)}: ${message}`);
}

it('refuses an onDeadLetter that names no handler, and suggests one', async () => {
  const failures = await failuresOf({
    'send-mail.ts': { onDeadLetter: 'report_failures' },
    'report-failure.ts': {},
    'make-pdf.ts': { onDeadLetter: 'page_someone' },
  });

  expect(failures).toEqual([
    'make-pdf.ts: onDeadLetter: no handler is named page_someone; the handlers are make_pdf, report_failure, send_mail',
    'send-mail.ts: onDeadLetter: no handler is named report_failures; did you mean report_failure?',
  ]);
});

it('accepts the name of a handler, with or without a routing key, and none', async () => {
  const failures = await failuresOf({
    'send-mail.ts': { onDeadLetter: 'report_failure.mail' },
    'make-pdf.ts': { onDeadLetter: 'send_mail' },
    'report-failure.mail.ts': { onDeadLetter: '' },
  });

  expect(failures).toEqual([]);
});

it('reports only the file that defines nothing, since the name may be in it', async () => {
  const failures = await failuresOf({
    'send-mail.ts': { onDeadLetter: 'report_failure' },
    'report-failure.ts': 'does not parse',
  });

  expect(failures).toEqual(['report-failure.ts: does not parse']);
});
