import { text } from 'node:stream/consumers';
import { SettingError } from '../core/errors.ts';
import { buildHandlers } from './bundle/build-handlers.ts';

// A process of its own, because the constructor of a construct cannot wait. It bundles the handlers that its input
// names, and prints as JSON why one of them cannot be bundled.
try {
  await buildHandlers(JSON.parse(await text(process.stdin)));
  process.stdout.write('{}');
} catch (error) {
  if (!(error instanceof Error)) throw error;
  const field = error instanceof SettingError ? { field: error.field } : {};
  process.stdout.write(JSON.stringify({ message: error.message, ...field }));
}
