import type { FunctionBundle } from './bundle/bundle-function.ts';
import { catalogAlias, catalogSource } from './bundle/options.ts';
import type { HandlerPlan } from './plan/handler-plan.ts';

/** A function that knows every handler: it imports their files, and so whatever they import. */
export function catalogBundle(entry: string, plans: readonly HandlerPlan[]): FunctionBundle {
  return {
    entry,
    generated: { [catalogAlias]: catalogSource(plans.map(({ file }) => file)) },
    nativeModules: [...new Set(plans.flatMap(({ nativeModules }) => nativeModules))],
  };
}
