import type { Command } from 'commander';
import { withBackend } from '../backend/open.ts';
import { CommandFailure, EXIT } from '../command-failure.ts';
import type { GlobalOptions } from '../global-options.ts';
import { action, examples } from '../options/action.ts';
import { scheduleName } from '../options/values.ts';
import { confirm } from '../screen/confirm.ts';
import { toJson } from '../screen/json.ts';
import { print, printMessage } from '../screen/terminal.ts';

/** `millrace schedules delete` */
export function addScheduleDelete(schedules: Command): void {
  schedules
    .command('delete')
    .argument('<schedule>', 'the name of the schedule', scheduleName)
    .description('delete a schedule that was created at run time; its jobs stay')
    .option('-y, --yes', 'skip the confirmation')
    .addHelpText('after', examples('schedules delete nightly-report', 'schedules delete nightly-report --yes'))
    .action(
      action(async (options: GlobalOptions & { yes?: boolean }, name: string) => {
        if (!options.yes) await confirm(`Delete the schedule ${name}?`, options);
        const answer = await withBackend(options, (backend) => backend.deleteSchedule(name));
        if (answer === 'not_found')
          throw new CommandFailure(EXIT.notFound, `no schedule is named ${name}: see npx millrace schedules`);
        if (answer === 'declared') {
          const reason = `a handler file declares ${name}: remove it there and deploy, or pause it`;
          throw new CommandFailure(EXIT.conflict, reason);
        }
        if (options.json) print(toJson({ schedule: name, answer }));
        else printMessage(`deleted ${name}`);
        return undefined;
      }),
    );
}
