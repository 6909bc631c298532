import { relative } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { messageOf } from '../../core/failure.ts';
import { type HandlerAddress, toAddress } from '../../core/handler/naming.ts';
import { unreadVariables } from '../../core/handler/unread-variables.ts';
import { checkVariables, variablesOf } from '../../core/handler/variables.ts';
import type { Database } from '../../core/postgres/database.ts';
import { type Registration, registerHandlers } from '../../core/registry/register-handlers.ts';
import { changeText } from '../../core/registry/register-schedules.ts';
import { STAGE } from '../state.ts';
import { fired } from '../stop-requests.ts';
import type { Api } from './api-function.ts';
import type { Bundling } from './bundling.ts';
import { type DeployDeps, type DeployedVersion, deployHandler, type HandlerSettings } from './deploy-handler.ts';
import type { BundledHandler, ReadFile, ReadingHandlers } from './handler-bundles.ts';
import { refuseTaken } from './taken-schedules.ts';

export interface HandlersDeps extends DeployDeps {
  readonly project: string;
  readonly bundling: Pick<Bundling, 'again' | 'api'>;
  /** The API, which validates the payloads of the handlers. */
  readonly api: Pick<Api, 'deploy'>;
  readonly db: Database;
  /** Reads the settings of handlers, once for each sync. */
  readonly settings: () => Promise<HandlerSettings>;
  /** Fired when the stack stops: nothing more is deployed. */
  readonly stop: AbortSignal;
  readonly printLine: (line: string) => void;
}

interface State {
  readonly deployed: Map<string, DeployedVersion>;
  /** The last valid version of each file that is valid now. */
  readonly valid: Map<string, BundledHandler>;
  /** Complaints about files that are still broken, by handler; each is printed once. */
  readonly complaints: Map<string, readonly string[]>;
  /** Names of the handlers whose file exists, broken or not. */
  present: ReadonlySet<string>;
  /** Number of the newest reading of each file, while it is being read. */
  readonly reading: Map<string, number>;
  /** Files that were read and are not yet deployed. */
  readonly ready: Map<string, ReadFile>;
  /** Names of the handlers whose payloads the API validates. */
  inApi: ReadonlySet<string>;
  /** The settings of the newest sync. */
  settings: HandlerSettings;
  /** Variables without effect; each is printed once. */
  unread: ReadonlySet<string>;
  /** Set after the first sync: from then on every change is printed. */
  started: boolean;
}

export interface DeployedHandlers {
  /** Sorted by name. */
  readonly list: () => readonly Registration[];
  /** One line for each file that is not deployed in its current form: file, line and reason. */
  readonly complaints: () => readonly string[];
  /** The variables that the handlers read, such as `MILLRACE_MAX_ATTEMPTS`. */
  readonly variables: () => Readonly<Record<string, string>>;
  /**
   * Brings queues, functions, mappings and registry in line with the handler folder, or with `reading` if given.
   * Deploys each file as soon as it is read, and resolves when all are deployed, or when the stack stops.
   * @param onDeployed called after every change of the deployed handlers.
   * @throws SettingError that names each variable with an invalid value, and changes nothing.
   */
  sync(onDeployed?: () => Promise<void>, reading?: ReadingHandlers): Promise<void>;
}

/** Complaints about files in the wrong place belong to no handler. */
const MISPLACED = '';

/** Deploys the handlers of a folder to this machine whenever `sync` is called. */
export function openHandlers(deps: HandlersDeps): DeployedHandlers {
  const state: State = {
    ...{ deployed: new Map(), valid: new Map(), complaints: new Map(), present: new Set(), reading: new Map() },
    ...{ ready: new Map(), inApi: new Set(), started: false },
    ...{ settings: { environment: {}, variables: {} }, unread: new Set() },
  };
  const stopped = fired(deps.stop);
  let last: Promise<void> = Promise.resolve();
  let lastRead: Promise<unknown> = Promise.resolve();
  let readings = 0;
  return {
    list: () => [...state.deployed].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, handler]) => handler),
    complaints: () => [...state.complaints.values()].flat(),
    variables: () => {
      const definitions = [...state.deployed.values()].map(({ definition }) => definition);
      return variablesOf(definitions, state.settings.variables);
    },
    sync: async (onDeployed = async () => undefined, given = undefined) => {
      // One after another, so that the last one is the newest.
      const read = lastRead.then(async () => {
        const reading = given ?? (await deps.bundling.again());
        await readSettings(deps, state, [...reading.files.keys()].map(toAddress));
        return reading;
      });
      // The files that this sync drops may be new, so the next one updates the API.
      lastRead = read.catch(() => Object.assign(state, { inApi: new Set() }));
      const { files, misplaced } = await read;
      const number = ++readings;
      const deployReady = () => {
        last = last.catch(() => undefined).then(() => syncReady(deps, state, onDeployed));
        return last;
      };
      state.present = new Set(files.keys());
      complain(deps, state, MISPLACED, misplaced);
      const deployments = [...files].map(async ([name, reading]) => {
        state.reading.set(name, number);
        const file = await reading;
        // A newer version of the file is being read.
        if (state.reading.get(name) !== number) return;
        state.reading.delete(name);
        if (state.present.has(name)) state.ready.set(name, file);
        await deployReady();
      });
      await Promise.race([Promise.all([deployReady(), ...deployments]), stopped]);
      await last;
      state.started = true;
    },
  };
}

/** Reads and checks the settings before any change, because all handlers can read the same variable. */
async function readSettings(deps: HandlersDeps, state: State, handlers: readonly HandlerAddress[]): Promise<void> {
  const settings = await deps.settings();
  const unread = unreadVariables(settings.variables, handlers);
  for (const line of unread) if (!state.unread.has(line)) deps.printLine(line);
  state.unread = new Set(unread);
  checkVariables(handlers, settings.variables);
  state.settings = settings;
}

/** Deploys what was read, removes what was deleted, and registers the rest. */
async function syncReady(deps: HandlersDeps, state: State, onDeployed: () => Promise<void>): Promise<void> {
  // Files that are ready at the same time are deployed together.
  await nextTurn();
  const { ready, deployed, present, complaints, valid } = state;
  const gone = [...new Set([...deployed.keys(), ...complaints.keys()])].filter((name) => name && !present.has(name));
  if (deps.stop.aborted || (ready.size === 0 && gone.length === 0 && state.started)) return;
  const files = [...ready];
  ready.clear();
  const checked = refuseTaken(deps.project, deployed, files);
  const news = await Promise.all(checked.map(([name, file]) => deployOrComplain(deps, state, name, file)));
  // The handler of a broken file stays as it was deployed; the handler of a deleted file is removed.
  const removed = gone.map((name) => remove(deps, state, name));
  const registry = { db: deps.db, stage: STAGE, onWaiting: deps.printLine, isPartial: state.reading.size > 0 };
  const changes = await registerHandlers(registry, [...deployed.values()]);
  const lines = [...news, ...removed, ...changes.map((change) => `schedule ${changeText(change)}`)];
  if (state.started) for (const line of lines) if (line !== undefined) deps.printLine(line);
  await onDeployed();
  const names = [...valid.keys()];
  const isNew = files.some(([, file]) => typeof file !== 'string' && file.isNew);
  const differs = names.length !== state.inApi.size || names.some((name) => !state.inApi.has(name));
  if (state.started && (isNew || differs)) await updateApi(deps, state);
  if (!state.started) state.inApi = new Set(names);
}

/** The API imports the files as they are now: one that is being read may loop at import. */
async function updateApi({ bundling, api }: HandlersDeps, state: State): Promise<void> {
  const known = [...state.valid].filter(([name]) => !state.reading.has(name));
  await bundling.api(known.map(([, handler]) => handler));
  await api.deploy();
  state.inApi = new Set(known.map(([name]) => name));
}

/** Returns a line about a change, which is true when the registry has the handler's settings, too. */
async function deployOrComplain(deps: HandlersDeps, state: State, name: string, file: ReadFile) {
  const { deployed, valid } = state;
  if (typeof file === 'string') {
    valid.delete(name);
    return void complain(deps, state, name, [file]);
  }
  valid.set(name, file);
  try {
    const before = deployed.get(name);
    const { next, changed } = await deployHandler(deps, file, state.settings, before);
    deployed.set(name, next);
    complain(deps, state, name, []);
    return changed ? `${name} was ${before ? 'reloaded' : 'added'}` : undefined;
  } catch (error) {
    return void complain(deps, state, name, [`${relative(deps.project, file.file)}: ${messageOf(error)}`]);
  }
}

function complain({ printLine }: HandlersDeps, { complaints }: State, name: string, lines: readonly string[]): void {
  const before = complaints.get(name) ?? [];
  for (const line of lines) if (!before.includes(line)) printLine(line);
  if (lines.length === 0) complaints.delete(name);
  else complaints.set(name, lines);
}

function remove({ runner }: HandlersDeps, { deployed, valid, complaints }: State, name: string): string | undefined {
  complaints.delete(name);
  valid.delete(name);
  const before = deployed.get(name);
  if (before === undefined) return undefined;
  runner.removeFunction(before.functionName);
  deployed.delete(name);
  return `${name} was removed; its jobs stay in the database`;
}
