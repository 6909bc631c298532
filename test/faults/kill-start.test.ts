import { killRepeatedly } from './kill.ts';

killRepeatedly({ name: 'npm start' });
