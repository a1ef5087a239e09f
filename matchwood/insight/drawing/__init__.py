"""Pictures of the trees and triangles that engines keep."""
