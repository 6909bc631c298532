import { SettingError } from '../core/errors.ts';
import { computeCost } from '../infra/cost/compute-cost.ts';
import { costJson, costReport } from '../infra/cost/cost-report.ts';
import { costTables } from '../infra/cost/cost-tables.ts';
import { type CostOptions, costHelp, readWork } from '../infra/cost/read-work.ts';

const USAGE_ERROR = 2;

/** `npm run cost`: prints what jobs cost on AWS. */
function main(args: readonly string[]): void {
  try {
    const options = readWork(args);
    process.stdout.write(options === undefined ? costHelp() : `${print(options)}\n`);
  } catch (error) {
    if (!(error instanceof SettingError)) throw error;
    process.stderr.write(`${error.message}; npm run cost -- --help lists the options\n`);
    process.exitCode = USAGE_ERROR;
  }
}

function print(options: CostOptions): string {
  switch (options.format) {
    case 'text':
      return costReport(computeCost(options));
    case 'json':
      return costJson(computeCost(options));
    case 'markdown':
      return costTables(options);
  }
}

main(process.argv.slice(2));
