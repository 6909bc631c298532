import { Console } from 'node:console';
import { Writable } from 'node:stream';
import { expect, it } from 'vitest';
import { seconds } from '../../core/duration.ts';
import { retry } from '../../core/handler/retry-policy.ts';
import { readDocument, section, tableBelow } from './documents.ts';

const page = readDocument('docs/handlers.md');

it('docs/handlers.md shows the output of its preview', () => {
  const [code, output] = section(page, 'Retries').blocks;
  let printed = '';
  const write = (chunk: Buffer, _encoding: string, done: () => void) => {
    printed += chunk.toString();
    done();
  };
  const console = new Console(new Writable({ write }));

  new Function('console', 'retry', code!.code)(console, retry);

  expect(code?.language).toBe('js');
  expect(output?.code).toBe(printed);
});

it.each(tableBelow(page, 'Retries'))(
  'docs/handlers.md states the bounds of the jitter %s',
  (written = '', becomes = '') => {
    const values = [...written.matchAll(/`('\w+'|[\d.]+)`/g)].map(([, value]) =>
      JSON.parse(value!.replaceAll("'", '"')),
    );
    const bounds = [...becomes.matchAll(/(\d+ s)/g)].map(([, bound]) => seconds(bound!.replace(' ', ''), 'the page'));

    const shown = values.map((jitter) => retry.preview(retry.fixed(60, { jitter }), 1)[0]!);

    expect(values.length).toBeGreaterThan(0);
    for (const { least, most } of shown) expect([least, most]).toEqual([bounds[0], bounds.at(-1)]);
  },
);
