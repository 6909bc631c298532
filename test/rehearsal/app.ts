import { App } from 'aws-cdk-lib';
import { MillraceStack } from '../../infra/stack.ts';
import { avoidFaults } from './emulator-faults.ts';

const app = new App();
avoidFaults(new MillraceStack(app));
