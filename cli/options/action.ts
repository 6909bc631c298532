import type { Command } from 'commander';
import { EXIT, type ExitCode } from '../exit-code.ts';
import type { GlobalOptions } from '../target/target.ts';

/** Joins a command to what it does. Its own options and those of the program come in one object; nothing means done. */
export function action<Options extends object>(
  run: (options: Options & GlobalOptions, ...args: never[]) => Promise<ExitCode | number | undefined>,
): (this: Command) => Promise<void> {
  return async function (this: Command) {
    const code = await run(this.optsWithGlobals(), ...(this.processedArgs as never[]));
    process.exitCode = code ?? EXIT.done;
  };
}

/** What `-h` begins with. */
export function examples(...lines: readonly string[]): string {
  return `Examples:\n${lines.map((line) => `  $ npx millrace ${line}`).join('\n')}\n`;
}
