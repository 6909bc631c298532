import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { SettingError } from '../errors.ts';
import { withoutMark } from '../text.ts';

/** The context of a CDK app, by name: the settings of a stage, and `stages`, the settings of each stage by its name. */
export type Context = Readonly<Record<string, unknown>>;

/** The stages in `cdk.json`, each with its settings. */
export type StageList = Readonly<Record<string, Context>>;

const EXAMPLE = '{"dev": {"database": "small"}}';

/**
 * Returns the context that the files of a project give to its CDK app, as CDK merges it, without that of the command
 * line. A file can be missing.
 * @throws Error that names a file that is not JSON
 */
export function readFileContext(project: string): Context {
  const own = readJson(join(homedir(), '.cdk.json'));
  const looked = readJson(join(project, 'cdk.context.json'));
  const committed = readJson(join(project, 'cdk.json'));
  return { ...asObject(own.context), ...looked, ...asObject(committed.context) };
}

function readJson(file: string): Context {
  if (!existsSync(file)) return {};
  try {
    return asObject(JSON.parse(withoutMark(readFileSync(file, 'utf8')))) ?? {};
  } catch (cause) {
    throw new Error(`${file} is not valid JSON: correct it`, { cause });
  }
}

/**
 * Returns the stages of a context; undefined if it lists none.
 * @throws SettingError for a list that is not an object of objects
 */
export function listStages({ stages }: Context): StageList | undefined {
  if (stages === undefined || stages === '') return undefined;
  const list = asObject(typeof stages === 'string' ? parse(stages) : stages);
  if (list === undefined) throw new SettingError('stages', `an object such as ${EXAMPLE}`, stages);
  for (const [stage, settings] of Object.entries(list)) {
    if (asObject(settings) !== undefined) continue;
    throw new SettingError(`stages.${stage}`, 'an object with the settings of this stage', settings);
  }
  return list as StageList;
}

/**
 * Returns the settings of a stage: those of its entry in `stages`, before those that hold for all stages. Without a
 * list, every stage has the latter.
 * @throws SettingError for a stage that is not in the list
 */
export function settingsOfStage(stage: unknown, context: Context): Context {
  const { stages: _list, ...forAll } = context;
  return { ...forAll, ...entryOf(stage, context) };
}

/** Returns what the list says about a stage. @throws SettingError as `settingsOfStage` */
export function entryOf(stage: unknown, context: Context): Context {
  const list = listStages(context);
  if (list === undefined) return {};
  const entry = typeof stage === 'string' && Object.hasOwn(list, stage) ? list[stage] : undefined;
  if (entry !== undefined) return entry;
  const names = Object.keys(list).join(', ') || 'none yet';
  throw new SettingError('stage', `one of the stages in cdk.json (${names})`, stage);
}

function asObject(value: unknown): Context | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Context) : undefined;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
