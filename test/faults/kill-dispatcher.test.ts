import { killRepeatedly } from './kill.ts';
import { nudge } from './story.ts';

killRepeatedly({ name: 'dispatcher', pattern: /AWS_LAMBDA_FUNCTION_NAME=millrace-local-dispatcher/, after: nudge });
