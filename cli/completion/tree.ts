import type { Command, Option } from 'commander';
import { defaultOf } from '../options/default-command.ts';

/** A word that completion offers, and its description. */
export interface Candidate {
  readonly word: string;
  readonly description: string;
}

/** An option with a value, under one of its names. */
export interface Valued {
  readonly flag: string;
  /** Empty when the option accepts any value. */
  readonly choices: readonly string[];
}

/** A command for completion. */
export interface CompletionPlace {
  /** The words of the command; empty for the program itself. */
  readonly path: string;
  /** Its subcommands. */
  readonly commands: readonly Candidate[];
  /** The values of its argument, if they are a fixed choice. */
  readonly choices: readonly Candidate[];
  readonly options: readonly Candidate[];
  readonly valued: readonly Valued[];
}

/** Returns every command with the words that can follow it, from commander. */
export function readPlaces(command: Command, path = ''): CompletionPlace[] {
  const commands = command.createHelp().visibleCommands(command);
  const options = optionsOf(command);
  const place = {
    path,
    commands: commands.flatMap((child) =>
      namesOf(child).map((word) => ({ word, description: firstSentence(child.description()) })),
    ),
    choices: command.registeredArguments.flatMap(({ argChoices = [], description }) =>
      argChoices.map((word) => ({ word, description })),
    ),
    options: options.flatMap((option) =>
      flagsOf(option).map((word) => ({ word, description: firstSentence(option.description) })),
    ),
    valued: options
      .filter(({ required, optional }) => required || optional)
      .flatMap((option) => flagsOf(option).map((flag) => ({ flag, choices: option.argChoices ?? [] }))),
  };
  const below = commands.flatMap((child) =>
    namesOf(child).flatMap((name) => readPlaces(child, `${path} ${name}`.trim())),
  );
  return [place, ...below];
}

/** Returns the options of a command, of its default subcommand and of the program. */
function optionsOf(command: Command): Option[] {
  const help = command.createHelp();
  help.showGlobalOptions = true;
  const usual = defaultOf(command);
  const all = [...help.visibleOptions(command), ...(usual ? help.visibleOptions(usual) : [])];
  const found = [...all, ...help.visibleGlobalOptions(command)];
  return found.filter(({ flags }, index) => found.findIndex((other) => other.flags === flags) === index);
}

function namesOf(command: Command): string[] {
  return [command.name(), ...command.aliases()];
}

function flagsOf({ long, short }: Option): string[] {
  return [long, short].filter((flag) => flag !== undefined);
}

/** Returns the part of a description that fits beside a word. */
function firstSentence(text: string): string {
  return text.split(/[;:] /, 1)[0] ?? '';
}

/** Groups the places and flags that have the same choices. */
export function byChoices(
  places: readonly CompletionPlace[],
): { readonly keys: string[]; readonly choices: readonly string[] }[] {
  const all = places.flatMap(({ path, valued }) =>
    valued.map(({ flag, choices }) => ({ key: `${path} ${flag}`, choices })),
  );
  const groups = Map.groupBy(all, ({ choices }) => choices.join(' '));
  return [...groups.values()].map((group) => ({
    keys: group.map(({ key }) => key),
    choices: group[0]?.choices ?? [],
  }));
}

/** Returns each command as the words before it and its own. */
export function steps(places: readonly CompletionPlace[]): string[] {
  return places.flatMap(({ path, commands }) => commands.map(({ word }) => `${path} ${word}`));
}
