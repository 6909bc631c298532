import { App } from 'aws-cdk-lib';
import { makeStack } from '../../infra/stack.ts';
import { avoidFaults } from './emulator-faults.ts';

const app = new App();
avoidFaults(await makeStack(app, app.node.getAllContext()));
