import { parseArgs } from 'node:util';
import { messageOf } from '../../core/failure.ts';
import { startSqs } from './server.ts';

const EXIT_PORT_TAKEN = 3;

let port = 0;

try {
  const { values } = parseArgs({ options: { port: { type: 'string' }, data: { type: 'string' } } });
  port = Number(values.port ?? 0);
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new Error(`--port must be 0 to 65535, not ${values.port}.`);
  const emulator = await startSqs({ port, ...(values.data === undefined ? {} : { dataFile: values.data }) });
  const stop = () => void emulator.close().then(() => process.exit(0));
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
  const { endpoint } = emulator;
  process.stdout.write(`${JSON.stringify({ event: 'listening', endpoint, port: emulator.port })}\n`);
} catch (error) {
  const taken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
  const reason = messageOf(error);
  process.stderr.write(
    taken ? `Port ${port} is in use: choose another for SQS with --port.\n` : `SQS cannot start: ${reason}\n`,
  );
  process.exit(taken ? EXIT_PORT_TAKEN : 1);
}
