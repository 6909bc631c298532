/**
 * The process of a probe: imports handler files, one after another, and writes lines about them (`Told`) to file
 * descriptor 3. Arguments: the files, each with the module to import in its place, and the names of all handler files
 * of their folder, both as JSON; and the limits: processor time in milliseconds, and turns of the event loop for each
 * file.
 */
import { writeSync } from 'node:fs';
import * as modules from 'node:module';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import { Worker } from 'node:worker_threads';
import type { DefinitionData, HandlerDefinition } from '../handler/definition.ts';
import { startOf } from '../text.ts';
import { importHandler } from './import-handler.ts';
import type { ProbedFile } from './probe.ts';
import { stateOf, type Told } from './probe-sources.ts';

const REPORT = 3;
const LONGEST_ERROR = 4_000;

// Runs in its own thread, because a loop at import stops all timers of the main thread. Ends with the caller.
const WATCH = `const { workerData } = process.getBuiltinModule('node:worker_threads');
const parent = process.ppid;
setInterval(() => {
  if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL');
  const { user, system } = process.cpuUsage();
  if (user + system < workerData * 1000) return;
  process.getBuiltinModule('node:fs').writeSync(${REPORT}, '{"limit":"busy"}\\n');
  process.kill(process.pid, 'SIGKILL');
}, 100)`;

const [given = '[]', siblings = '[]', processorMs, most] = process.argv.splice(2);
const files = JSON.parse(given) as readonly ProbedFile[];
// A compiled module then names the lines of its sources in stacks.
process.setSourceMapsEnabled(files.some(({ file, module }) => module !== file));
new Worker(WATCH, { eval: true, workerData: Number(processorMs) }).unref();
let turns = Number(most);
setInterval(() => {
  if (turns-- > 0) return;
  tell({ limit: 'waits' });
  process.kill(process.pid, 'SIGKILL');
}, 100).unref();

process.on('uncaughtExceptionMonitor', (error) => tell({ uncaught: startOf(inspect(error), LONGEST_ERROR) }));
// Node 20 has no such hooks. The reading then counts as incomplete, and is repeated.
if (modules.registerHooks === undefined) tell({ source: undefined, state: '' });
modules.registerHooks?.({
  resolve(specifier, context, next) {
    try {
      return next(specifier, context);
    } catch (error) {
      tell({ source: undefined, state: '' });
      throw error;
    }
  },
  load(url, context, next) {
    if (url.startsWith('file:')) {
      const source = fileURLToPath(url);
      tell({ source, state: stateOf(source) });
    }
    return next(url, context);
  },
});

for (const { file, module } of files) {
  turns = Number(most);
  const read = await importHandler(file, JSON.parse(siblings), module);
  // An uncaught error ends the process first.
  await nextTurn();
  tell({ verdict: 'message' in read ? read : { ...read, definition: dataOf(read.definition) } });
}
process.exit();

function tell(told: Told): void {
  writeSync(REPORT, `${JSON.stringify(told)}\n`);
}

/** Every field, so that a new one cannot be forgotten. */
type EveryField = { readonly [Field in keyof Required<DefinitionData>]: DefinitionData[Field] | undefined };

/** Returns the known fields: a file can add others, which JSON may not represent. JSON omits those without a value. */
function dataOf(definition: HandlerDefinition): DefinitionData {
  const { jobType, routingKey, timeoutSeconds, memoryMb, maxAttempts, retry, concurrency, batch } = definition;
  const { maxInFlight, nativeModules, onDeadLetter, schedules, settings, secrets, aws, unset } = definition;
  const data: EveryField = {
    ...{ jobType, routingKey, timeoutSeconds, memoryMb, maxAttempts, retry, concurrency, batch },
    ...{ maxInFlight, nativeModules, onDeadLetter, schedules, settings, secrets, aws, unset },
  };
  return data as DefinitionData;
}
