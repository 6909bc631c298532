import { type AlarmSpec, functionMetric, ONCE } from './alarm.ts';

/** A secret of a new database. */
export type RotatedSecret = 'owner' | 'runtime' | 'app';

const HOUR = 3600;

/** Returns the name of the function of AWS that rotates a secret. No handler has a name with two dashes. */
export function rotationFunction(stage: string, secret: RotatedSecret): string {
  return `millrace-${stage}-rotate-${secret}-secret`;
}

/** Returns the alarm on the functions that rotate these secrets, whose timeouts Lambda counts as errors, too. */
export function rotationAlarm(stage: string, secrets: readonly RotatedSecret[]): AlarmSpec {
  const errors = secrets.map((secret) => {
    return [secret, functionMetric(rotationFunction(stage, secret), 'Errors', 'Sum', HOUR)] as const;
  });
  return {
    ...{ ...ONCE, name: `millrace-${stage}-rotation-errors`, severity: 'ticket' },
    metrics: Object.fromEntries(errors),
    expression: secrets.map((secret) => `FILL(${secret}, 0)`).join(' + '),
    meaning: `A secret of the database is not rotated. The log of a function millrace-${stage}-rotate-… states why.`,
    ...{ command: 'npx millrace doctor', anchor: 'alarms-on-aws' },
  };
}
