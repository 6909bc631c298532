import type { Command } from 'commander';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openProgram } from '../../cli/run.ts';
import { runCli } from './run-cli.ts';

const withDescendants = (command: Command): Command[] => [command, ...command.commands.flatMap(withDescendants)];

const nameOf = (command: Command): string =>
  command.parent?.parent ? `${nameOf(command.parent)} ${command.name()}` : command.name();

function helpOf(command: Command): string {
  let text = '';
  command.configureOutput({ writeOut: (part) => (text += part) });
  command.outputHelp();
  return text;
}

const [program, ...commands] = withDescendants(openProgram()).map((command) => ({
  name: nameOf(command),
  help: helpOf(command),
}));
const examples = [program!, ...commands].flatMap(({ help }) => help.match(/^ {2}\$ .*/gm) ?? []);

/** Splits a line into arguments as a shell does, without pipes and files. */
function wordsOf(line: string): string[] {
  const [, alone = line] = /\((npx .*?)\)/.exec(line) ?? [];
  const [, typed = ''] = /npx millrace(.*?)(?: [<>|] \S+)?$/.exec(alone) ?? [];
  return [...typed.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(([, one, two, three]) => one ?? two ?? three ?? '');
}

/** Returns the command that a line would run, without running it. */
async function understand(words: readonly string[]): Promise<string | undefined> {
  const asked = openProgram();
  let ran: string | undefined;
  for (const command of withDescendants(asked)) {
    command.configureOutput({ outputError: () => undefined }).action(() => {
      ran = nameOf(command);
    });
  }
  await asked.parseAsync(words, { from: 'user' });
  return ran;
}

// Every command listens for Ctrl-C.
let listeners: readonly NodeJS.SignalsListener[] = [];
beforeEach(() => {
  listeners = process.listeners('SIGINT');
});
afterEach(() => {
  for (const one of process.listeners('SIGINT')) if (!listeners.includes(one)) process.off('SIGINT', one);
});

it.each(commands)('$name --help begins with its usage, and has an example of it', ({ name, help }) => {
  const lines = help.split('\n');
  const first = lines[lines.indexOf('Examples:') + 1] ?? '';

  expect(lines[0]).toMatch(new RegExp(`^Usage: millrace ${name}( |$)`));
  expect(`${wordsOf(first).join(' ')} `).toContain(`${name.replace(/ (list|groups)$/, '')} `);
});

it('the help has an example for every command', () => {
  expect(commands.length).toBeGreaterThan(35);
  expect(program?.help).toMatch(/^Usage: millrace /);
  expect(examples.length).toBeGreaterThan(commands.length);
});

it.each([...new Set(examples)])('the CLI parses the example%s', async (line) => {
  const words = wordsOf(line);

  const ran = await understand(words);

  expect(`${ran} `.startsWith(`${words[0]} `)).toBe(true);
});

it('millrace without a command prints a short help', async () => {
  const { code, stdout, stderr } = await runCli([]);

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(/^Usage: npx millrace <command>\n/);
  expect(stderr.split('\n').length).toBeLessThan(15);
  const commandsShown = [...stderr.matchAll(/^ {2}([a-z]+)/gm)].map(([, name]) => name);
  expect(commandsShown.filter((name) => !commands.some((one) => one.name === name))).toEqual([]);
});

it.each([
  ['statz', '(Did you mean stats?)'],
  ['xyz', 'All commands: npx millrace --help'],
])('the unknown command %s gets a hint', async (word, sentence) => {
  const { code, stdout, stderr } = await runCli([word]);

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain(`error: unknown command '${word}'\n`);
  expect(stderr).toContain(`${sentence}\n`);
});
