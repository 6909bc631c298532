import { parseArgs } from 'node:util';
import { startMailbox } from './mailbox.ts';

const { values } = parseArgs({ options: { port: { type: 'string' }, folder: { type: 'string' } } });
if (values.port === undefined || values.folder === undefined) {
  throw new Error('usage: main.ts --port <number> --folder <mail folder>');
}

const mailbox = await startMailbox({ port: Number(values.port), folder: values.folder });
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void mailbox.close().then(() => process.exit(0)));
}
console.log(JSON.stringify({ event: 'listening', port: mailbox.port }));
