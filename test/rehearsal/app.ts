import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import { extendBy } from '../../infra/extension.ts';
import { MillraceStack } from '../../infra/stack.ts';
import { avoidFaults } from './emulator-faults.ts';

/** The folder `infra` of the clone. */
const [, , infra = '.'] = process.argv;

const stack = new MillraceStack(new App());
await extendBy(join(infra, 'extend.ts'), stack);
avoidFaults(stack);
