import { killRepeatedly } from './kill.ts';

killRepeatedly({ name: 'Postgres', pattern: /postgres (.* )?-D/ });
