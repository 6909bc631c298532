import { relative, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { SettingError } from '../../core/errors.ts';
import { type Context, entryOf, listStages, settingsOfStage } from '../../core/settings/stage-list.ts';

/** The settings of the chosen stage, and which of them are from its entry in `stages`. */
export interface ChosenStage {
  readonly context: Context;
  /** `stages.prod.` for a setting from the entry of prod; empty for the others. */
  readonly placeOf: (name: string) => string;
}

/** A stage and the folder of its handler files. */
interface Place {
  readonly stage: string;
  readonly handlersFolder: string;
}

/** Settings for one deployment: in a file, they would hold for all later ones. */
const FOR_ONCE: readonly string[] = ['takeOver', 'moveDatabase'];
const IDENTITY = ['stage', 'stages'];

/**
 * Merges the settings of the chosen stage: those in `files` for all stages, those of its entry in `stages`, and those
 * of the command line, of which the last wins. CDK merges the command line into the context of the files, so a value
 * that differs from that of the files is from the command line.
 * @throws SettingError for a stage that is not listed, and for an unknown name in the entry of any stage
 */
export function chooseStage(given: Context, files: Context, names: readonly string[]): ChosenStage {
  checkEntries(given, names);
  const entry = entryOf(given.stage, given);
  const { stages: _list, ...context } = given;
  const chosen = Object.entries(context).filter(([name, value]) => !isDeepStrictEqual(value, files[name]));
  const isChosen = new Set(chosen.map(([name]) => name));
  return {
    context: { ...context, ...entry, ...Object.fromEntries(chosen) },
    placeOf: (name) => (Object.hasOwn(entry, name) && !isChosen.has(name) ? `stages.${given.stage}.` : ''),
  };
}

function checkEntries(given: Context, names: readonly string[]): void {
  for (const [stage, entry] of Object.entries(listStages(given) ?? {})) {
    for (const name of Object.keys(entry)) {
      const field = `stages.${stage}.${name}`;
      if (FOR_ONCE.includes(name))
        throw new SettingError(field, `no value: pass it as -c ${name}=…, once`, entry[name]);
      if (names.includes(name) && !IDENTITY.includes(name)) continue;
      const known = names.filter((one) => !IDENTITY.includes(one) && !FOR_ONCE.includes(one));
      throw new SettingError(field, `one of ${known.join(', ')}`, name);
    }
  }
}

/**
 * Returns the command that checks a stage. It names the folder of the handlers if `doctor` does not find it in the
 * files.
 */
export function doctorCommand({ stage, handlersFolder }: Place, files: Context, usual: string): string {
  const known = listStages(files);
  const isKnown = known === undefined || Object.hasOwn(known, stage);
  const { handlers = usual } = isKnown ? settingsOfStage(stage, files) : {};
  const option = resolve(String(handlers)) === handlersFolder ? '' : ` --handlers ${relative('.', handlersFolder)}`;
  return `npx millrace doctor --stage ${stage}${option}`;
}
