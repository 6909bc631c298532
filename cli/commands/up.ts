import type { Command } from 'commander';
import { action, examples } from '../options/action.ts';

/** `millrace up`: runs the whole product on this machine, until Ctrl-C. */
export function addUp(program: Command): void {
  program
    .command('up')
    .description('run everything on this machine: database, queues, functions, dispatcher')
    .option('--fresh', 'start from scratch: delete the data of earlier runs')
    .option('--fast-retries', 'divide every retry delay by 60')
    .addHelpText('after', examples('up', 'up --fresh --fast-retries'))
    .action(
      action(async ({ fresh = false, fastRetries = false }: { fresh?: boolean; fastRetries?: boolean }) => {
        // Loaded here: it imports esbuild and the servers.
        const { up } = await import('../../local/up.ts');
        return up({ fresh, fastRetries, cwd: process.cwd() });
      }),
    );
}
