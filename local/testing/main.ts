import { parseArgs } from 'node:util';
import { messageOf } from '../../core/failure.ts';
import { keepServer } from './keep-server.ts';

const { values } = parseArgs({
  options: { folder: { type: 'string' }, from: { type: 'string' }, idle: { type: 'string' } },
});
const { folder, from, idle } = values;
if (folder === undefined || from === undefined) throw new Error('usage: main.ts --folder <folder> --from <module>');

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
try {
  await keepServer({ folder, from, signal: stop.signal, ...(idle !== undefined && { idleMs: Number(idle) }) });
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n`);
  process.exitCode = 1;
}
