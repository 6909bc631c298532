import type { Command } from 'commander';

/** The default command of each group, which Commander does not expose. */
const DEFAULTS = new WeakMap<Command, Command>();

/** Adds the command that a group runs when no subcommand is named. */
export function addDefault(group: Command, name: string): Command {
  const added = group.command(name, { isDefault: true });
  DEFAULTS.set(group, added);
  return added;
}

export function defaultOf(group: Command): Command | undefined {
  return DEFAULTS.get(group);
}
