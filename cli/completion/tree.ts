import type { Command, Option } from 'commander';
import { defaultOf } from '../options/default-command.ts';

/** A word that can be typed, and what it does. */
export interface Candidate {
  readonly word: string;
  readonly description: string;
}

/** An option that is followed by a value, under one of its names. */
export interface Valued {
  readonly flag: string;
  /** Empty when a value can be anything. */
  readonly choices: readonly string[];
}

/** A command as completion sees it. */
export interface Place {
  /** The words that lead there; empty for the program itself. */
  readonly path: string;
  /** Words that lead further. */
  readonly commands: readonly Candidate[];
  /** What its argument can be, when that is a fixed choice. */
  readonly choices: readonly Candidate[];
  readonly options: readonly Candidate[];
  readonly valued: readonly Valued[];
}

/** Every command with what can follow it, as commander knows them. */
export function readPlaces(command: Command, path = ''): Place[] {
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

/** Its own, those of the command that it stands for when no other is named, and those of the program. */
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

/** What fits beside a word. */
function firstSentence(text: string): string {
  return text.split(/[;:] /, 1)[0] ?? '';
}

/** What a table of options and their values comes to: the places and flags that have the same choices. */
export function byChoices(
  places: readonly Place[],
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

/** Each command as what was typed before it and itself. */
export function steps(places: readonly Place[]): string[] {
  return places.flatMap(({ path, commands }) => commands.map(({ word }) => `${path} ${word}`));
}
