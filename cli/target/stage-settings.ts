import { SettingError } from '../../core/errors.ts';
import { type Context, listStages, readFileContext, settingsOfStage } from '../../core/settings/stage-list.ts';
import { findAbove } from '../../local/find-above.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';

/** A stage, and what the `cdk.json` of the project says about it. */
export interface FoundStage {
  readonly stage: string;
  /** The folder of `cdk.json`; undefined without one. */
  readonly project: string | undefined;
  readonly settings: Context;
  /** Whether `cdk.json` lists the stage: a deployment then requires no other options. */
  readonly isListed: boolean;
}

/**
 * Finds the settings of a stage in the nearest `cdk.json`, as `cdk` reads them.
 * @throws CommandFailure for a stage that `cdk.json` does not list, if it lists stages
 */
export function findStage(stage: string): FoundStage {
  const found = findAbove(process.cwd(), 'cdk.json');
  if (found === undefined) return { stage, project: undefined, settings: {}, isListed: false };
  try {
    const context = readFileContext(found.folder);
    const settings = settingsOfStage(stage, context);
    return { stage, project: found.folder, settings, isListed: listStages(context) !== undefined };
  } catch (error) {
    throw refusal(error, found.path);
  }
}

function refusal(cause: unknown, file: string): unknown {
  if (!(cause instanceof SettingError)) return cause;
  return new CommandFailure(EXIT.usage, `${cause.message} (${file})`, { cause });
}
