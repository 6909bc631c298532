import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FOLDER, install } from './install.ts';
import { startStack } from './stack.ts';

/**
 * `npm run example`: lists the examples; with a name, runs it until Ctrl-C; with a name and `test`, runs its tests;
 * with `test` alone, runs the tests of all.
 */
async function main([name, verb]: readonly string[]): Promise<number> {
  const examples = list();
  if (name === undefined) return print(examples);
  if (name === 'test') return testAll([...examples.keys()]);
  if (!examples.has(name) || (verb !== undefined && verb !== 'test')) {
    console.error(`unknown example "${[name, verb].join(' ').trim()}"; expected npm run example <name> [test]`);
    print(examples);
    return 2;
  }
  await install([...examples.keys()]);
  return verb === 'test' ? runTests(name) : run(name);
}

/** Returns the examples with their descriptions. */
function list(): Map<string, string> {
  const folders = readdirSync(import.meta.dirname, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return new Map(
    folders.map(({ name }) => {
      const manifest = JSON.parse(readFileSync(join(import.meta.dirname, name, 'package.json'), 'utf8'));
      return [name, manifest.description];
    }),
  );
}

function print(examples: ReadonlyMap<string, string>): number {
  for (const [name, description] of examples) console.log(`npm run example ${name.padEnd(14)} ${description}`);
  return 0;
}

async function run(name: string): Promise<number> {
  const stack = await startStack(name, 'inherit');
  console.log(
    `\nIn a second terminal:\n\n  cd ${join('.examples', name)}\n${commands(name)}\nexamples/${name}/README.md explains them.`,
  );
  return stack.ended;
}

/** Returns the first commands of the README, indented. */
function commands(name: string): string {
  const text = readFileSync(join(import.meta.dirname, name, 'README.md'), 'utf8');
  const [, block = ''] = /^```sh\n(.*?)^```$/ms.exec(text) ?? [];
  return block.replace(/^(?=.)/gm, '  ');
}

/** Runs the tests of an example on a new stack. */
async function runTests(name: string): Promise<number> {
  const stack = await startStack(name, 'captured');
  try {
    const tests = spawn('npm', ['test', '--silent'], {
      cwd: join(FOLDER, name),
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    const [code] = await once(tests, 'exit');
    if (code !== 0) console.error(`the output of millrace dev is in ${stack.log}`);
    return code ?? 1;
  } finally {
    await stack.stop();
  }
}

async function testAll(names: readonly string[]): Promise<number> {
  await install(names);
  const failed: string[] = [];
  for (const name of names) {
    console.log(`\n=== ${name}`);
    if ((await runTests(name)) !== 0) failed.push(name);
  }
  const list = failed.length > 0 ? `; failed: ${failed.join(', ')}` : '';
  console.log(`\n${names.length - failed.length} of ${names.length} examples passed${list}`);
  return failed.length === 0 ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2)).catch((error: Error) => {
  console.error(error.message);
  return 1;
});
