/** The public interface for AWS CDK: a team deploys its handlers in a stack of its own, or as a part of another one. */
export { DeployedFunction } from './constructs/deployed-function.ts';
export { DeployedHandler } from './constructs/deployed-handler.ts';
export { Millrace, type MillraceProps } from './millrace.ts';
export { MillraceStack, type MillraceStackOptions } from './stack.ts';
