"""Creates a stack from the template on standard input and prints its status: create-stack.py <stack>."""

import sys

import boto3

cloudformation = boto3.client("cloudformation")
cloudformation.create_stack(StackName=sys.argv[1], TemplateBody=sys.stdin.read(), Capabilities=["CAPABILITY_NAMED_IAM"])
print(cloudformation.describe_stacks(StackName=sys.argv[1])["Stacks"][0]["StackStatus"])
