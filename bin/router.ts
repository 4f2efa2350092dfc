import { App, Validations } from 'aws-cdk-lib';
import { Code } from 'aws-cdk-lib/aws-lambda';
import { AwsSolutionsChecks } from 'cdk-nag';
import { parseModels } from '../lambdas/catalog/catalog.ts';
import models from '../lambdas/catalog/models.json' with { type: 'json' };
import { bundle } from '../lib/bundle/bundle.ts';
import { RouterStack } from '../lib/router-stack.ts';
import { readStage } from '../lib/stage.ts';

const app = new App();
const stage = readStage(app.node);
const router = bundle({ entry: 'lambdas/router.ts', outdir: 'dist/router' });

new RouterStack(app, `model-router-${stage.name}`, {
  description: `Model router, stage ${stage.name}`,
  stage,
  models: parseModels(models),
  code: Code.fromAsset(router.folder),
});
Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
