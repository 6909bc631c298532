import { killRepeatedly } from './kill.ts';

killRepeatedly({ name: 'handler', pattern: /AWS_LAMBDA_FUNCTION_NAME=millrace-local-story_mail/ });
