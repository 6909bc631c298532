import { killRepeatedly } from './kill.ts';

killRepeatedly({ name: 'SQS emulator', pattern: /local\/sqs\/main/ });
