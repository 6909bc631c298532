import { type Command, InvalidArgumentError, Option } from 'commander';
import { DURATION, type Duration, seconds } from '../../core/duration.ts';
import { isHold, type NewJob } from '../../core/enqueue/enqueue-options.ts';
import type { Enqueued } from '../../core/enqueue/insert-jobs.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';
import { key } from '../options/values.ts';

/** The options of a job's unique key. */
export interface UniqueFlags {
  readonly uniqueKey?: string;
  readonly uniqueBy?: 'payload';
  readonly uniqueFor?: Duration;
  readonly uniqueUntil?: NewJob['uniqueUntil'];
  readonly onConflict?: NewJob['onConflict'];
}

export function addUniqueOptions(command: Command): Command {
  return command
    .option('--unique-key <key>', 'insert nothing if another job of this handler holds this key', key)
    .addOption(new Option('--unique-by <what>', 'make the unique key of the payload').choices(['payload']))
    .option('--unique-for <duration>', 'hold the key for this long, unless the job is cancelled', hold)
    .addOption(
      new Option('--unique-until <status>', 'hold the key until then; with --unique-for, at most that long').choices([
        ...['dispatched', 'dead_letter', 'finished'],
      ]),
    )
    .addOption(
      new Option(
        '--on-conflict <what>',
        'replace gives the payload and options to the job that holds the key, if it has not been dispatched',
      ).choices(['skip', 'replace']),
    );
}

function hold(text: string): Duration {
  if (DURATION.test(text) && isHold(seconds(text, '--unique-for'))) return text;
  throw new InvalidArgumentError('Expected a duration above 0, such as 30s, 5m or 2h, at most 365d.');
}

/** @throws CommandFailure unless the options belong to one key. */
export function checkUnique({ uniqueKey, uniqueBy, uniqueFor, uniqueUntil, onConflict }: UniqueFlags): void {
  if (uniqueKey !== undefined && uniqueBy !== undefined) {
    throw new CommandFailure(EXIT.usage, 'use --unique-key or --unique-by, not both: each makes the key');
  }
  if (uniqueKey !== undefined || uniqueBy !== undefined) return;
  const flags = { '--unique-for': uniqueFor, '--unique-until': uniqueUntil, '--on-conflict': onConflict };
  const [given] = Object.entries(flags).find(([, value]) => value !== undefined) ?? [];
  if (given === undefined) return;
  throw new CommandFailure(EXIT.usage, `${given} concerns a key: add --unique-key or --unique-by payload`);
}

/** Says what happened to a job whose key another one holds. */
export function verdict({ replaced }: Enqueued): string {
  return replaced
    ? 'holds this unique key and was not dispatched yet: it now has this payload and these options'
    : 'holds this unique key: nothing was inserted';
}
